// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/uring_ring.h>

#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

// What liburing 2.3 has no names for yet.
constexpr unsigned kEnterAbsTimer = 1U << 5;     // IORING_ENTER_ABS_TIMER, Linux 6.12
constexpr unsigned kEnterNoIowait = 1U << 7;     // IORING_ENTER_NO_IOWAIT, Linux 6.15
constexpr unsigned kFeatureNoIowait = 1U << 17;  // IORING_FEAT_NO_IOWAIT
constexpr unsigned kIncremental = 2;             // IOU_PBUF_RING_INC, Linux 6.12

constexpr unsigned kNeededFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
// SUBMIT_ALL: one bad request must not hold back those behind it. TASKRUN_FLAG lets a poll see in shared memory that
// the kernel has nothing for it.
constexpr unsigned kSetupFlags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
                                 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;

static_assert(sizeof(UringRing::Completion) == sizeof(io_uring_cqe) && IORING_CQE_F_MORE == 2);

__kernel_timespec to_timespec(Duration time) {
  return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

}  // namespace

struct UringRing::Message {
  msghdr header;
  std::array<iovec, kMaxParts> parts;
};

UringRing::UringRing() : ring_(std::make_unique<io_uring>()), pool_(BlockPool::here()) {
  for (Lending& lending : lendings_) {
    for (unsigned i = 0; i < kMostLent; ++i) lending.free[i] = static_cast<uint16_t>(kMostLent - 1 - i);
  }
}

UringRing::~UringRing() {
  if (has_ring_) io_uring_queue_exit(ring_.get());
  for (Lending& lending : lendings_) {
    if (lending.ring != nullptr) ::munmap(lending.ring, kMostLent * sizeof(io_uring_buf));
    for (Block* block : lending.blocks) {
      if (block != nullptr) pool_.unref(block);
    }
  }
}

Result<std::unique_ptr<UringRing>> UringRing::make() {
  std::unique_ptr<UringRing> ring(new UringRing);
  int error = ring->set_up();
  if (error == 0) error = ring->register_blocks(kWhole, 0);
  if (error != 0) return fail(error);
  ring->shares_ = ring->register_blocks(kShared, kIncremental) == 0;
  if (ring->shares_) ring->lendings_[kShared].target = kSharedAtFirst;
  return ring;
}

int UringRing::set_up() {
  io_uring_params parameters{};
  parameters.flags = kSetupFlags;
  parameters.cq_entries = kCompletions;
  if (int result = io_uring_queue_init_params(kSubmissions, ring_.get(), &parameters); result < 0) return -result;
  has_ring_ = true;
  if ((parameters.features & kNeededFeatures) != kNeededFeatures) return EINVAL;
  // Requests are filled in ring order, so the indirection of the submission array is the identity, for good.
  for (unsigned i = 0; i < ring_->sq.ring_entries; ++i) ring_->sq.array[i] = i;
  // Spares each enter the look-up of the fd; where it is refused the plain fd does.
  if (io_uring_register_ring_fd(ring_.get()) == 1) enter_flags_ |= IORING_ENTER_REGISTERED_RING;
  // Waiting for clients is not waiting for a disk.
  if (parameters.features & kFeatureNoIowait) enter_flags_ |= kEnterNoIowait;
  __kernel_timespec zero{};
  io_uring_getevents_arg argument{};
  argument.ts = reinterpret_cast<uintptr_t>(&zero);
  unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | kEnterAbsTimer;
  takes_absolute_time_ = enter_kernel(0, 0, flags, &argument, sizeof argument) == 0;
  return 0;
}

int UringRing::register_blocks(Sort sort, unsigned flags) {
  void* memory =
      ::mmap(nullptr, kMostLent * sizeof(io_uring_buf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uintptr_t>(memory);
  registration.ring_entries = kMostLent;
  registration.bgid = sort;
  registration.pad = static_cast<uint16_t>(flags);  // `flags` since Linux 6.4
  if (int result = io_uring_register_buf_ring(ring_.get(), &registration, 0); result < 0) {
    ::munmap(memory, kMostLent * sizeof(io_uring_buf));
    return -result;
  }
  lendings_[sort].ring = static_cast<io_uring_buf_ring*>(memory);
  return 0;
}

std::string UringRing::why_unsupported() {
  Result<std::unique_ptr<UringRing>> ring = make();
  if (ring) return {};
  switch (ring.error().value()) {
    case EPERM:
    case EACCES: return "io_uring is forbidden here (the sysctl kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS: return "this kernel has no io_uring, or a seccomp filter hides it";
    case EINVAL: return "this kernel's io_uring is too old: multishot receive and deferred task work need Linux 6.1";
    default: return fmt::format("io_uring cannot be set up: {}", ring.error().message());
  }
}

io_uring_sqe& UringRing::request(int operation, int fd, uint64_t tag) {
  io_uring_sq& sq = ring_->sq;
  if (sq.sqe_tail - *sq.khead >= sq.ring_entries) [[unlikely]]
    make_room();
  io_uring_sqe& sqe = sq.sqes[sq.sqe_tail++ & sq.ring_mask];
  std::memset(&sqe, 0, sizeof sqe);
  sqe.opcode = static_cast<uint8_t>(operation);
  sqe.fd = fd;
  sqe.user_data = tag;
  return sqe;
}

// The queue of requests is full: submits it without waiting. A kernel whose completion queue is full may refuse, so
// completions move aside first.
void UringRing::make_room() {
  io_uring_sq& sq = ring_->sq;
  lend_all();
  do {
    int result = enter_kernel(publish(), 0, IORING_ENTER_GETEVENTS, nullptr, 0);
    submitted();
    if (result >= 0) continue;
    PEAL_ASSERT(result == -EINTR || result == -EBUSY || result == -EAGAIN, "io_uring_enter failed with {}", result);
    if (overflow_taken_ == overflow_.size()) {
      overflow_.clear();
      overflow_taken_ = 0;
    }
    std::array<Completion, 64> batch;
    while (size_t count = take_posted(batch)) overflow_.insert(overflow_.end(), batch.begin(), batch.begin() + count);
  } while (sq.sqe_tail - *sq.khead >= sq.ring_entries);
}

void UringRing::accept(int fd, bool again, uint64_t tag) {
  io_uring_sqe& sqe = request(IORING_OP_ACCEPT, fd, tag);
  if (again) sqe.ioprio = IORING_ACCEPT_MULTISHOT;
  sqe.accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
}

void UringRing::receive(int fd, bool whole_blocks, uint64_t tag) {
  Sort sort = whole_blocks || !shares_ ? kWhole : kShared;
  if (lendings_[sort].target == 0) lendings_[sort].target = kWholeAtFirst;
  io_uring_sqe& sqe = request(IORING_OP_RECV, fd, tag);
  sqe.ioprio = IORING_RECV_MULTISHOT;
  sqe.flags = IOSQE_BUFFER_SELECT;
  sqe.buf_group = sort;
}

// MSG_DONTWAIT: a send never waits inside the ring. The kernel's own wait for room counts EPOLLRDHUP as news
// (IO_POLL_UNMASK in io_uring/poll.c), so after the peer's FIN it would only spin, and then fail with EAGAIN.
size_t UringRing::send(int fd, const Buffer& bytes, bool more, uint64_t tag) {
  const uint32_t flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
  if (bytes.is_contiguous()) [[likely]] {
    std::string_view front = bytes.front();
    io_uring_sqe& sqe = request(IORING_OP_SEND, fd, tag);
    sqe.addr = reinterpret_cast<uintptr_t>(front.data());
    sqe.len = static_cast<uint32_t>(front.size());
    sqe.msg_flags = flags;
    return front.size();
  }
  io_uring_sqe& sqe = request(IORING_OP_SENDMSG, fd, tag);
  if (messages_used_ == messages_.size()) messages_.push_back(std::make_unique<Message>());
  Message& message = *messages_[messages_used_++];
  message.header = {};
  message.header.msg_iov = message.parts.data();
  message.header.msg_iovlen = bytes.gather(message.parts);
  size_t offered = 0;
  for (size_t i = 0; i < message.header.msg_iovlen; ++i) offered += message.parts[i].iov_len;
  sqe.addr = reinterpret_cast<uintptr_t>(&message.header);
  sqe.len = 1;
  sqe.msg_flags = flags;
  return offered;
}

void UringRing::connect(int fd, const SocketAddress& address, uint64_t tag) {
  io_uring_sqe& sqe = request(IORING_OP_CONNECT, fd, tag);
  addresses_.push_back(std::make_unique<SocketAddress>(address));
  sqe.addr = reinterpret_cast<uintptr_t>(addresses_.back()->data());
  sqe.off = addresses_.back()->size();
}

void UringRing::close(int fd, uint64_t tag) { request(IORING_OP_CLOSE, fd, tag); }

void UringRing::poll(int fd, uint32_t events, bool edges, uint64_t tag) {
  io_uring_sqe& sqe = request(IORING_OP_POLL_ADD, fd, tag);
  sqe.poll32_events = __io_uring_prep_poll_mask(events);
  if (edges) sqe.len = IORING_POLL_ADD_MULTI;
}

void UringRing::read_eventfd(int fd, uint64_t tag) {
  io_uring_sqe& sqe = request(IORING_OP_READ, fd, tag);
  sqe.addr = reinterpret_cast<uintptr_t>(&eventfd_counter_);
  sqe.len = sizeof eventfd_counter_;
}

void UringRing::cancel(uint64_t tag) {
  io_uring_sqe& sqe = request(IORING_OP_ASYNC_CANCEL, -1, kNoTag);
  sqe.addr = tag;
  sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
}

// Makes the queued requests visible to the kernel; returns how many it has not taken yet.
unsigned UringRing::publish() {
  io_uring_sq& sq = ring_->sq;
  if (sq.sqe_head != sq.sqe_tail) {
    sq.sqe_head = sq.sqe_tail;
    io_uring_smp_store_release(sq.ktail, sq.sqe_tail);
  }
  return sq.sqe_tail - *sq.khead;
}

// The kernel has copied what submitted requests pointed at (IORING_FEAT_SUBMIT_STABLE).
void UringRing::submitted() {
  if (*ring_->sq.khead != ring_->sq.sqe_tail) return;
  messages_used_ = 0;
  if (!addresses_.empty()) addresses_.clear();
}

bool UringRing::has_completions() const {
  return overflow_taken_ < overflow_.size() || io_uring_cq_ready(ring_.get()) > 0;
}

int UringRing::enter_kernel(unsigned submit, unsigned least, unsigned flags, const void* argument, size_t size) {
  return io_uring_enter2(static_cast<unsigned>(ring_->enter_ring_fd), submit, least, flags | enter_flags_,
                         static_cast<sigset_t*>(const_cast<void*>(argument)), size);
}

int UringRing::enter_until(unsigned submit, TimePoint deadline) {
  if (deadline == kNever) return enter_kernel(submit, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
  unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | (takes_absolute_time_ ? kEnterAbsTimer : 0U);
  Duration time = deadline.time_since_epoch();
  if (!takes_absolute_time_) time = std::max(deadline - monotonic_now(), Duration::zero());
  __kernel_timespec until = to_timespec(time);
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = _NSIG / 8;
  argument.ts = reinterpret_cast<uintptr_t>(&until);
  return enter_kernel(submit, 1, flags, &argument, sizeof argument);
}

bool UringRing::enter(TimePoint deadline) {
  PEAL_ASSERT(&BlockPool::here() == &pool_, "ring {} is waited for on a thread that did not open it", ring_->ring_fd);
  lend_all();
  unsigned submit = publish();
  int result;
  if (deadline == TimePoint::min() || has_completions()) {
    unsigned news = IO_URING_READ_ONCE(*ring_->sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
    if (submit == 0 && news == 0) return false;
    result = enter_kernel(submit, 0, IORING_ENTER_GETEVENTS, nullptr, 0);
  } else {
    result = enter_until(submit, deadline);
  }
  submitted();
  // EBUSY and EAGAIN: the kernel is short of room or memory. What it did not take stays queued for the next trip.
  PEAL_ASSERT(result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN,
              "io_uring_enter failed with {}", result);
  return true;
}

size_t UringRing::take(std::span<Completion> completions) {
  size_t count = 0;
  while (overflow_taken_ < overflow_.size() && count < completions.size()) {
    completions[count++] = overflow_[overflow_taken_++];
  }
  return count + take_posted(completions.subspan(count));
}

size_t UringRing::take_posted(std::span<Completion> completions) {
  io_uring_cq& cq = ring_->cq;
  unsigned head = *cq.khead;
  size_t count = std::min<size_t>(io_uring_smp_load_acquire(cq.ktail) - head, completions.size());
  for (size_t i = 0; i < count; ++i, ++head) {
    const io_uring_cqe& cqe = cq.cqes[head & cq.ring_mask];
    completions[i] = {cqe.user_data, cqe.res, cqe.flags};
  }
  io_uring_smp_store_release(cq.khead, head);
  return count;
}

Buffer UringRing::take_bytes(const Completion& completion) {
  if ((completion.flags & IORING_CQE_F_BUFFER) == 0) [[unlikely]]
    return {};
  unsigned id = completion.flags >> IORING_CQE_BUFFER_SHIFT;
  auto sort = static_cast<Sort>(id / kMostLent);
  auto index = static_cast<uint16_t>(id % kMostLent);
  PEAL_ASSERT(sort < kSorts && lendings_[sort].blocks[index] != nullptr, "buffer {} came back without being lent", id);
  Lending& lending = lendings_[sort];
  Block* block = lending.blocks[index];
  auto size = static_cast<uint32_t>(std::max(completion.result, 0));
  uint32_t begin = 0;
  if (sort == kShared) {
    // The kernel keeps a shared block until it is full. At the end of a stream some kernels say that they gave one back
    // (no IORING_CQE_F_BUF_MORE) when they did not, so the bytes are counted here.
    begin = lending.used[index];
    lending.used[index] += size;
    if (size == 0) return {};
    if (begin + size < block->capacity_bytes) {
      ++block->references;
      return Buffer(block, begin, begin + size);
    }
  }
  lending.blocks[index] = nullptr;
  lending.free[kMostLent - lending.count--] = index;
  return Buffer(block, begin, begin + size);
}

void UringRing::lend_more(bool whole_blocks) {
  Lending& lending = lendings_[whole_blocks || !shares_ ? kWhole : kShared];
  lending.target = std::min(std::max(lending.target, kSharedAtFirst) * 2, kMostLent);
}

void UringRing::lend_all() {
  if (lendings_[kShared].count < lendings_[kShared].target) lend(kShared);
  if (lendings_[kWhole].count < lendings_[kWhole].target) lend(kWhole);
}

// The pool gives out the block it got back last, which is still in the cache. One store publishes the whole batch.
void UringRing::lend(Sort sort) {
  Lending& lending = lendings_[sort];
  constexpr int kMask = kMostLent - 1;
  int added = 0;
  while (lending.count < lending.target) {
    uint16_t index = lending.free[kMostLent - 1 - lending.count++];
    Block* block = lending.blocks[index] = pool_.acquire(kLargeBlockBytes);
    lending.used[index] = 0;
    auto id = static_cast<uint16_t>(sort * kMostLent + index);
    io_uring_buf_ring_add(lending.ring, block->data, block->capacity_bytes, id, kMask, added++);
  }
  io_uring_buf_ring_advance(lending.ring, added);
}

}  // namespace peal::detail
