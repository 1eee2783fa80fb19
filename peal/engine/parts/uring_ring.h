// SPDX-License-Identifier: BSD-3-Clause
// UringRing: an io_uring and its rings of provided buffers. With its .cc the one file pair that speaks io_uring: it
// knows how to ask and how to wait, the UringEngine decides what.
//
// The ring belongs to the thread that made it (IORING_SETUP_SINGLE_ISSUER: any other gets EEXIST), and completions are
// posted only while that thread is inside enter() (DEFER_TASKRUN). Requests queue in shared memory; one io_uring_enter
// submits them all and waits.
//
// Receives fill blocks of the thread's BlockPool that are lent to the kernel, as one of two sorts:
//   - whole: one receive takes one block. What a bulky message needs, or it would be cut where blocks meet.
//   - shared: receives fill a block one after another, each a part of it (IOU_PBUF_RING_INC, Linux 6.12; before, all
//     are whole). Small messages stay in a few warm blocks, and pin few.
// Few are lent at first, and twice as many whenever they ran out: the kernel takes them in the order they were lent,
// so few means warm.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <peal/base/buffer.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/engine/socket_address.h>

struct io_uring;
struct io_uring_sqe;
struct io_uring_buf_ring;

namespace peal::detail {

class UringRing {
 public:
  // `result` is what the system call would have returned, errors as -errno.
  struct Completion {
    uint64_t tag;
    int32_t result;
    uint32_t flags;
    // The request stays armed: more completions of it will come.
    bool more() const { return (flags & 2U) != 0; }
  };

  // Why this machine cannot run it, as one sentence; empty when it can. Any thread.
  static std::string why_unsupported();
  // The ring, and blocks for it; the calling thread's from here on. EPERM, ENOSYS, EINVAL: see why_unsupported().
  static Result<std::unique_ptr<UringRing>> make();
  // All requests must have completed: the kernel may write into lent blocks until then.
  ~UringRing();
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;

  // Each queues a request whose completions carry `tag`, except that of a cancel, which carries none.
  // Until cancelled or failed, or once; results are non-blocking, close-on-exec fds.
  void accept(int fd, bool again, uint64_t tag);
  // Until cancelled, ended or failed; take_bytes() fetches the bytes.
  void receive(int fd, bool whole_blocks, uint64_t tag);
  // Sends from the front of `bytes` what fits, without waiting for room; they must stay until the completion. `more`: a
  // segment that is not full waits for what follows (MSG_MORE). Returns how many it offered.
  size_t send(int fd, const Buffer& bytes, bool more, uint64_t tag);
  void connect(int fd, const SocketAddress& address, uint64_t tag);
  void close(int fd, uint64_t tag);
  // poll(2)'s events. Once, as soon as there are any; or with `edges` at each change until cancelled, the state now
  // being the first. Besides what was asked, POLLERR, POLLHUP and POLLRDHUP always count.
  void poll(int fd, uint32_t events, bool edges, uint64_t tag);
  void read_eventfd(int fd, uint64_t tag);  // once; one at a time
  void cancel(uint64_t tag);                // the request completes with -ECANCELED, or as it did

  // Submits what is queued and waits for a completion until `deadline` (TimePoint::min(): without blocking). Makes no
  // system call when there is nothing to ask and nothing to fetch. Returns whether it made one.
  bool enter(TimePoint deadline);
  // Copies completions out, oldest first; returns how many. Those it returned are off the ring.
  size_t take(std::span<Completion> completions);
  // The bytes of a receive's completion, if it had any. To be called once for each.
  Buffer take_bytes(const Completion& completion);
  // A receive ended with -ENOBUFS: lend more blocks from the next enter() on.
  void lend_more(bool whole_blocks);

  static constexpr uint64_t kNoTag = 0;

 private:
  static constexpr unsigned kSubmissions = 512;
  static constexpr unsigned kCompletions = 4096;
  static constexpr unsigned kSharedAtFirst = 8;
  static constexpr unsigned kWholeAtFirst = 32;
  static constexpr unsigned kMostLent = 256;  // 5 MiB: about a core's share of cache
  static constexpr size_t kMaxParts = 16;

  struct Message;  // a msghdr with its parts
  enum Sort : uint16_t { kShared, kWhole, kSorts };
  // The blocks of one sort. A buffer's id is its index here, plus kMostLent for each sort before.
  struct Lending {
    io_uring_buf_ring* ring = nullptr;
    std::array<Block*, kMostLent> blocks{};
    std::array<uint32_t, kMostLent> used{};  // bytes of a shared block that are received
    std::array<uint16_t, kMostLent> free;    // indices, a stack
    unsigned count = 0;
    unsigned target = 0;
  };

  UringRing();
  int set_up();
  int register_blocks(Sort sort, unsigned flags);
  io_uring_sqe& request(int operation, int fd, uint64_t tag);
  void make_room();
  size_t take_posted(std::span<Completion> completions);
  unsigned publish();
  bool has_completions() const;
  int enter_kernel(unsigned submit, unsigned least, unsigned flags, const void* argument, size_t size);
  int enter_until(unsigned submit, TimePoint deadline);
  void submitted();
  void lend(Sort sort);
  void lend_all();

  std::unique_ptr<io_uring> ring_;
  bool has_ring_ = false;
  bool takes_absolute_time_ = false;
  unsigned enter_flags_ = 0;
  uint64_t eventfd_counter_ = 0;

  BlockPool& pool_;
  std::array<Lending, kSorts> lendings_;
  bool shares_ = true;

  std::vector<Completion> overflow_;  // taken off the ring early, to make room; oldest first
  size_t overflow_taken_ = 0;
  std::vector<std::unique_ptr<Message>> messages_;  // what queued requests point at, until they are submitted
  size_t messages_used_ = 0;
  std::vector<std::unique_ptr<SocketAddress>> addresses_;
};

}  // namespace peal::detail
