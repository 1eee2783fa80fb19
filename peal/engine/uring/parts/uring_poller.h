// SPDX-License-Identifier: BSD-3-Clause
// UringPoller: the Poller over io_uring(7). It uses the ring for readiness, with one multishot poll request for each
// stream, and for small sends in batches. No other source files use io_uring.
//
// Why the ring does not receive: a hundred receives would land in a hundred cold blocks before the first is answered.
// When the engine is told that a stream is ready, it receives into one warm block and answers at once. What the ring
// saves is the work that epoll does for each event: an event is 16 bytes in shared memory, and no request is repeated.
//
// The ring belongs to the thread that made it (IORING_SETUP_SINGLE_ISSUER); any other thread gets EEXIST. The kernel
// adds events only while that thread is inside io_uring_enter (DEFER_TASKRUN). Requests are queued in shared memory,
// too, and submitted by the next wait.
//
// A request keeps its file open, so close(2) alone would send no FIN. An fd is therefore closed by a request that
// follows the one that ends its poll. There are two kinds of polls:
//   - A stream's request reports changes (edges) until it is cancelled. If the kernel runs out of room, the request
//     ends by itself, and its event says so (kRegistrationLost).
//   - The request of a level-triggered fd reports once and is made again before the next wait.
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
  // Returns a sentence that says why this machine cannot run the poller. The result is empty if it can. May be called
  // on any thread.
  static std::string why_unsupported();
  // Makes a poller. If that fails with EPERM, ENOSYS or EINVAL, why_unsupported() explains the error.
  static Result<std::unique_ptr<Poller>> make();
  ~UringPoller() override;

  // Never fails. If the kernel refuses to poll the fd, a later event with POLLERR reports that.
  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override;
  // Changes the interest of an edge-triggered fd. Asserts if `edge` is false.
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;

  void remove(int fd, uint64_t key) override;
  void close(Fd fd, uint64_t key) override;
  void finish_removals() override;
  void send(int fd, uint64_t key, std::string_view bytes) override;
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  bool is_edge_triggered() const override { return true; }

  // Returns how many alarms the kernel holds that have not rung yet: at most one.
  size_t alarms() const { return alarms_; }

  // Lets the kernel take the requests of a ring in their order: the submission array maps each index to itself, and
  // never changes. `array` is null if the ring has none. Newer versions of liburing, such as 2.9, make such rings if
  // the kernel can (IORING_SETUP_NO_SQARRAY, Linux 6.6).
  static void keep_order(unsigned* array, unsigned entries);

 private:
  // The kernel's answer to a request, laid out as struct io_uring_cqe.
  struct Completion {
    uint64_t tag;
    int32_t result;
    uint32_t flags;
  };
  // An fd that is polled level-triggered.
  struct Level {
    int fd = -1;
    uint32_t interest = 0;
    bool armed = false;  // True if the kernel has a request for the fd.
    bool edges = false;  // True if the request reports only changes, see make_level_event().
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
  // Number of completions that the ring has room for. This number also sets the size of the table in which the kernel
  // looks up the request of a key. The table has one row for every 32 completions, and at most 256 rows.
  static constexpr unsigned kCompletions = 8192;

  std::unique_ptr<io_uring> ring_;
  bool has_ring_ = false;
  bool probing_ = true;  // True while set_up() tries what the kernel can do; an error is then an answer.
  bool takes_absolute_time_ = true;
  unsigned enter_flags_ = 0;
  size_t cancels_ = 0;                          // Cancels that were requested and not yet confirmed.
  std::unordered_map<uint64_t, Level> levels_;  // By key. There are few of them.
  size_t edged_levels_ = 0;                     // Entries of levels_ whose `edges` is true.
  std::vector<uint64_t> to_rearm_;              // Keys of levels whose request must be made again.
  // Completions that were taken off the ring before the next wait, the oldest first. The first pending_taken_ of them
  // have already been handled.
  std::vector<Completion> pending_completions_;
  size_t pending_taken_ = 0;
  // True if wait() must do more than take events off the ring; see wait_with_pending_work().
  bool has_pending_work_ = false;
  SendBatch batch_;
  DeadlineAlarm alarm_;
  size_t alarms_ = 0;
  __kernel_timespec alarm_time_{};  // The kernel reads it when the alarm's request is submitted.
};

}  // namespace peal::detail
