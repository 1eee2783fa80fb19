// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/completion_ring.h>

#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>

namespace peal::models {
namespace {

// With SINGLE_ISSUER and DEFER_TASKRUN, the kernel produces completions only while the thread of the ring is inside
// io_uring_enter(2). Therefore completions do not interrupt the thread at other times.
constexpr unsigned kSetupFlags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                                 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;

bool is_passing(int error) { return error == -ETIME || error == -EINTR || error == -EAGAIN || error == -EBUSY; }

}  // namespace

bool CompletionRing::Completion::more() const { return (flags & IORING_CQE_F_MORE) != 0; }

CompletionRing::CompletionRing() : ring_(std::make_unique<io_uring>()) {}

CompletionRing::~CompletionRing() {
  if (has_ring_) io_uring_queue_exit(ring_.get());
  if (buffer_ring_ != nullptr) ::munmap(buffer_ring_, kBuffers * sizeof(io_uring_buf));
}

Result<std::unique_ptr<CompletionRing>> CompletionRing::make() {
  std::unique_ptr<CompletionRing> ring(new CompletionRing);
  io_uring_params parameters{};
  parameters.flags = kSetupFlags;
  parameters.cq_entries = kCompletions;
  const int result = io_uring_queue_init_params(kRequests, ring->ring_.get(), &parameters);
  if (result < 0) return fail(-result);
  ring->has_ring_ = true;
  // The ring needs two features of the kernel, which exist in Linux 5.11 and later:
  // - NODROP: the kernel loses no completion, even if the completion queue is full.
  // - EXT_ARG: a wait can have a timeout.
  constexpr unsigned kNeeded = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
  if ((parameters.features & kNeeded) != kNeeded) return fail(EINVAL);
  io_uring_register_ring_fd(ring->ring_.get());  // saves a look-up of the fd in each system call; an error is harmless
  return ring;
}

io_uring_sqe& CompletionRing::request(uint64_t tag) {
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  while (sqe == nullptr) {
    const int result = io_uring_submit(ring_.get());
    PEAL_ASSERT(result >= 0 || is_passing(result), "io_uring_enter failed with {}", result);
    sqe = io_uring_get_sqe(ring_.get());
  }
  sqe->user_data = tag;  // the io_uring_prep_*() functions do not change this field
  return *sqe;
}

void CompletionRing::accept(int listener, Times times, uint64_t tag) {
  io_uring_sqe& sqe = request(tag);
  if (times == Times::kOnce) {
    io_uring_prep_accept(&sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
  } else {
    io_uring_prep_multishot_accept(&sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
}

void CompletionRing::receive(int fd, std::span<std::byte> into, uint64_t tag) {
  io_uring_prep_recv(&request(tag), fd, into.data(), into.size(), 0);
}

void CompletionRing::receive_into_provided(int fd, uint64_t tag) {
  io_uring_sqe& sqe = request(tag);
  io_uring_prep_recv_multishot(&sqe, fd, nullptr, 0, 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = kGroup;
}

void CompletionRing::send(int fd, std::span<const std::byte> bytes, Waits waits, uint64_t tag) {
  const int flags = waits == Waits::kYes ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT;
  io_uring_prep_send(&request(tag), fd, bytes.data(), bytes.size(), flags);
}

void CompletionRing::wait_readable(int fd, uint64_t tag) { io_uring_prep_poll_add(&request(tag), fd, POLLIN); }

void CompletionRing::cancel(uint64_t tag) {
  io_uring_sqe& sqe = request(0);
  io_uring_prep_cancel64(&sqe, tag, 0);
  sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
}

Result<void> CompletionRing::provide_buffers() {
  void* memory =
      ::mmap(nullptr, kBuffers * sizeof(io_uring_buf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(errno);
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uintptr_t>(memory);
  registration.ring_entries = kBuffers;
  registration.bgid = kGroup;
  if (const int result = io_uring_register_buf_ring(ring_.get(), &registration, 0); result < 0) return fail(-result);
  buffers_.reset(new std::byte[kBuffers * kBufferBytes]);  // not zeroed, so a page takes memory only when it is used
  for (unsigned id = 0; id < kBuffers; ++id) provide(id, id);
  io_uring_buf_ring_advance(buffer_ring_, kBuffers);
  return {};
}

void CompletionRing::provide(unsigned id, unsigned place) {
  io_uring_buf_ring_add(buffer_ring_, &buffers_[id * kBufferBytes], kBufferBytes, static_cast<uint16_t>(id),
                        io_uring_buf_ring_mask(kBuffers), static_cast<int>(place));
}

std::span<std::byte> CompletionRing::bytes(const Completion& completion) {
  PEAL_ASSERT((completion.flags & IORING_CQE_F_BUFFER) != 0 && completion.result > 0,
              "a completion with result {} and flags {} brought no buffer", completion.result, completion.flags);
  const unsigned id = completion.flags >> IORING_CQE_BUFFER_SHIFT;
  return {&buffers_[id * kBufferBytes], static_cast<size_t>(completion.result)};
}

void CompletionRing::give_back(std::span<std::byte> bytes) {
  const auto id = static_cast<size_t>(bytes.data() - buffers_.get()) / kBufferBytes;
  provide(static_cast<unsigned>(id), 0);
  io_uring_buf_ring_advance(buffer_ring_, 1);
}

Result<void> CompletionRing::wait(TimePoint deadline) {
  int result = 0;
  if (deadline == kNever) {
    result = io_uring_submit_and_wait(ring_.get(), 1);
  } else {
    const Duration left = std::max(deadline - monotonic_now(), Duration::zero());
    __kernel_timespec time{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
    io_uring_cqe* first = nullptr;
    result = io_uring_submit_and_wait_timeout(ring_.get(), &first, 1, &time, nullptr);
  }
  if (result < 0 && !is_passing(result)) return fail(-result);
  return {};
}

size_t CompletionRing::take(std::span<Completion> completions) {
  size_t count = 0;
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(ring_.get(), head, cqe) {
    if (count == completions.size()) break;
    completions[count++] = {cqe->user_data, cqe->res, cqe->flags};
  }
  io_uring_cq_advance(ring_.get(), static_cast<unsigned>(count));
  return count;
}

}  // namespace peal::models
