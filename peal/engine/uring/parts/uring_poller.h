// SPDX-License-Identifier: BSD-3-Clause
// UringPoller: the Poller over io_uring(7), used for readiness only: one multishot poll request a stream. Its
// sources alone speak io_uring.
//
// Why not completions: a hundred receives of a ring land in a hundred cold blocks before the first is answered; told
// that it is ready, the engine receives into one warm block and answers at once. What the ring saves is what epoll does
// for each event: an event is sixteen bytes in shared memory, and nothing is asked again.
//
// The ring belongs to the thread that made it (IORING_SETUP_SINGLE_ISSUER: any other gets EEXIST), and the kernel adds
// events only while that thread is inside io_uring_enter (DEFER_TASKRUN). Requests queue in shared memory too and leave
// with the next wait.
//
// A request holds its file open, so close(2) alone would send no FIN: a fd is closed by a request behind the one that
// ends its poll. A stream's request tells of changes (edges) until it is ended; if the kernel runs out of room it ends
// by itself, and the event says so (kRegistrationLost). What is to be level-triggered has a request that tells once,
// made again before the next wait.
#pragma once

#include <linux/time_types.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <peal/engine/readiness/deadline_alarm.h>
#include <peal/engine/readiness/poller.h>
#include <peal/engine/uring/parts/send_batch.h>

struct io_uring;
struct io_uring_sqe;

namespace peal::detail {

class UringPoller final : public Poller {
 public:
  // Why this machine cannot run it, as one sentence; empty when it can. Any thread.
  static std::string why_unsupported();
  // EPERM, ENOSYS, EINVAL: see why_unsupported().
  static Result<std::unique_ptr<Poller>> make();
  ~UringPoller() override;

  // Cannot fail here; what the kernel has against the fd comes as an event (POLLERR).
  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override;
  // Of an edge-triggered one.
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void remove(int fd, uint64_t key) override;
  void close(Fd fd, uint64_t key) override;
  void finish_removals() override;
  void send(int fd, uint64_t key, std::string_view bytes) override;
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  bool is_edge_triggered() const override { return true; }
  // The alarms that the kernel has and that have not rung: one at most.
  size_t alarms() const { return alarms_; }

 private:
  // What the kernel says of a request; laid out as it lays it out.
  struct Completion {
    uint64_t tag;
    int32_t result;
    uint32_t flags;
  };
  // What is polled level-triggered.
  struct Level {
    int fd = -1;
    uint32_t interest = 0;
    bool armed = false;  // in the kernel's hands
    bool edges = false;  // edge-triggered, since what it reported last is not wanted and stays true
  };

  UringPoller();
  int set_up();
  io_uring_sqe& request(int operation, int fd, uint64_t tag);
  void make_room();
  void arm(int fd, uint64_t key, uint32_t interest, bool edges);
  void rearm_levels();
  void cancel(uint64_t key);
  void set_alarm(TimePoint at);

  unsigned publish();
  [[gnu::noinline]] void end_batch();
  int enter_kernel(unsigned submit, unsigned least, unsigned flags, const void* argument, size_t size);
  int submit_and_wait_until(unsigned submit, TimePoint deadline);
  void submit_and_wait(TimePoint deadline, size_t room);
  size_t drain_ring();
  [[gnu::noinline]] size_t wait_with_pending_work(std::span<PollEvent> events, TimePoint deadline);
  size_t take_events(PollEvent* events, size_t count, size_t room, bool plain);
  [[gnu::noinline]] bool make_event(const Completion& completion, PollEvent& event);
  bool make_level_event(Level& level, const Completion& completion, PollEvent& event);
  bool handle_own(const Completion& completion);

  static constexpr unsigned kRequests = 512;
  // The kernel finds the request of a key in a table with a row for 32 of these, at most 256.
  static constexpr unsigned kCompletions = 8192;

  std::unique_ptr<io_uring> ring_;
  bool has_ring_ = false;
  bool probing_ = true;  // what the kernel can; an EINVAL is an answer
  bool takes_absolute_time_ = true;
  unsigned enter_flags_ = 0;
  size_t cancels_ = 0;                          // asked for, and not heard of yet
  std::unordered_map<uint64_t, Level> levels_;  // by key; few
  size_t edged_levels_ = 0;
  std::vector<uint64_t> to_rearm_;               // keys of levels to be armed again
  std::vector<Completion> pending_completions_;  // taken off the ring before the next wait; oldest first
  size_t pending_taken_ = 0;
  bool has_pending_work_ = false;  // there is something on one of these, or turns are counted
  SendBatch batch_;
  DeadlineAlarm alarm_;
  size_t alarms_ = 0;
  __kernel_timespec alarm_time_{};  // read by the kernel when the request leaves
};

}  // namespace peal::detail
