// SPDX-License-Identifier: BSD-3-Clause
// CompletionRing: an io_uring (io_uring(7)) with only those functions that a model needs. Requests are queued in memory
// that is shared with the kernel. One system call submits all queued requests and waits for completions. When a request
// is done, the kernel returns a completion with the tag of the request.
//
//   accept, receive, send ... ──> [requests] ──> wait(): io_uring_enter ──> [completions] ──> take()
//
// Use a ring only on the thread that made it. The memory that a request uses must stay valid until the request has
// completed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <peal/base/clock.h>
#include <peal/base/result.h>

struct io_uring;
struct io_uring_sqe;
struct io_uring_buf_ring;

namespace peal::models {

// Says how often one accept request completes: once (kOnce), or for each new connection until an error ends the request
// (kUntilItFails).
enum class Times : bool { kOnce, kUntilItFails };

class CompletionRing {
 public:
  struct Completion {
    uint64_t tag;
    int32_t result;  // the result of the system call, or -errno
    uint32_t flags;
    // True if another completion of the same request will follow. Only two kinds of requests have several completions:
    // accept() with kUntilItFails, and receive_into_provided().
    bool more() const;
  };

  // Creates an io_uring, which needs Linux 6.1 or later. Fails with EPERM, ENOSYS, EINVAL or ENOMEM. After a failure,
  // why_unsupported("io_uring") returns the reason as a sentence for the user.
  static Result<std::unique_ptr<CompletionRing>> make();
  // Destroy the ring only after every request that uses a buffer has completed. Otherwise the kernel might still read
  // or write that buffer.
  ~CompletionRing();
  CompletionRing(const CompletionRing&) = delete;
  CompletionRing& operator=(const CompletionRing&) = delete;

  // Requests accept(2) on `listener`. In each completion, `result` is the socket of a new connection, or -errno. The
  // socket is close-on-exec. The socket is blocking, because a receive request must wait until bytes arrive. On a
  // non-blocking socket without bytes, a receive request would complete immediately with -EAGAIN.
  void accept(int listener, Times times, uint64_t tag);
  void receive(int fd, std::span<std::byte> into, uint64_t tag);
  // Requests a multishot receive on `fd`: one request that completes each time bytes arrive. The kernel stores the
  // bytes in one of the buffers of provide_buffers(). To get the bytes, pass the completion to bytes(). In these cases,
  // the request ends, and more() of its last completion is false:
  // - No buffer is free (-ENOBUFS).
  // - The peer has sent its FIN (0).
  // - The receive has failed (-errno).
  // - cancel() was called for the request (-ECANCELED).
  // - The completion queue is full. In this case, the last completion may still have bytes.
  void receive_into_provided(int fd, uint64_t tag);
  enum class Waits : bool { kNo, kYes };  // kYes: the send waits until the socket has room
  void send(int fd, std::span<const std::byte> bytes, Waits waits, uint64_t tag);
  void wait_readable(int fd, uint64_t tag);  // completes once, when `fd` is readable
  // Requests the cancellation of the request that has the tag `tag`. If that request has not ended yet, its last
  // completion has the result -ECANCELED. If that request has already ended, the cancellation fails. A failed
  // cancellation has a completion of its own, with the tag 0. A successful cancellation has no completion of its own,
  // because the completion of the cancelled request reports the success.
  void cancel(uint64_t tag);

  // Allocates a pool of receive buffers and registers the pool with the kernel. Call provide_buffers() only once,
  // before the first call of receive_into_provided(). Fails, for example, with ENOMEM.
  Result<void> provide_buffers();
  // bytes() returns the bytes that a receive_into_provided() request has received. `completion` is a completion of that
  // request, and its `result` must be greater than 0. The bytes are in a buffer of the pool. When you no longer need
  // the bytes, return the buffer to the kernel: pass the result of bytes() to give_back().
  std::span<std::byte> bytes(const Completion& completion);
  void give_back(std::span<std::byte> bytes);

  // Submits the queued requests to the kernel. Then waits until the ring contains a completion or the time `deadline`
  // is reached. A signal may end the wait earlier. If the kernel cannot take all requests at the moment (EAGAIN,
  // EBUSY), wait() returns without waiting, and the next wait() submits the other requests. In all these cases, wait()
  // returns success.
  Result<void> wait(TimePoint deadline);
  // Moves completions from the ring into `completions`, the oldest first. Returns the number of moved completions.
  size_t take(std::span<Completion> completions);

 private:
  static constexpr unsigned kRequests = 1024;
  static constexpr unsigned kCompletions = 8192;
  static constexpr unsigned kBuffers = 512;  // a power of two
  static constexpr size_t kBufferBytes = 16 * 1024;
  static constexpr int kGroup = 0;

  CompletionRing();
  io_uring_sqe& request(uint64_t tag);
  void provide(unsigned id, unsigned place);

  std::unique_ptr<io_uring> ring_;
  bool has_ring_ = false;
  std::unique_ptr<std::byte[]> buffers_;
  io_uring_buf_ring* buffer_ring_ = nullptr;
};

}  // namespace peal::models
