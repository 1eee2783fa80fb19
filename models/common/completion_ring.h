// SPDX-License-Identifier: BSD-3-Clause
// CompletionRing: an io_uring (io_uring(7)) as a model needs it: requests are queued in memory shared with the kernel,
// one system call submits them all and waits, and each comes back as a completion with the tag it was given.
//
//   accept, receive, send ... ──> [requests] ──> wait(): io_uring_enter ──> [completions] ──> take()
//
// Of one thread, the one that makes it. Memory a request names stays until its completion.
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

enum class Times : bool { kOnce, kUntilItFails };

class CompletionRing {
 public:
  struct Completion {
    uint64_t tag;
    int32_t result;  // as the system call's, an error as -errno
    uint32_t flags;
    // The request stays: more completions of it will come.
    bool more() const;
  };

  // Linux 6.1 has all that is used here. EPERM, ENOSYS, EINVAL, ENOMEM: why_unsupported("io_uring") has the sentence.
  static Result<std::unique_ptr<CompletionRing>> make();
  // No request that names memory is under way.
  ~CompletionRing();
  CompletionRing(const CompletionRing&) = delete;
  CompletionRing& operator=(const CompletionRing&) = delete;

  // The result is a socket, close-on-exec, blocking: a request waits in the kernel for as long as it takes.
  void accept(int listener, Times times, uint64_t tag);
  void receive(int fd, std::span<std::byte> into, uint64_t tag);
  // Until it fails, ends or finds no buffer (-ENOBUFS); bytes() has what came.
  void receive_into_provided(int fd, uint64_t tag);
  enum class Waits : bool { kNo, kYes };  // for room in the socket
  void send(int fd, std::span<const std::byte> bytes, Waits waits, uint64_t tag);
  void wait_readable(int fd, uint64_t tag);  // once
  // The request of that tag comes back with -ECANCELED, if it is still there. No completion of its own.
  void cancel(uint64_t tag);

  // Provides buffers for receive_into_provided(). Once, before it is used. ENOMEM and the like.
  Result<void> provide_buffers();
  // What the completion of such a receive brought, > 0 bytes; its owner's until give_back().
  std::span<std::byte> bytes(const Completion& completion);
  void give_back(std::span<std::byte> bytes);

  // Submits, and waits for a completion until the deadline.
  Result<void> wait(TimePoint deadline);
  // Takes completions out, oldest first; how many.
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
