// SPDX-License-Identifier: BSD-3-Clause
// UringPoller: setting up the ring, and explaining why this machine cannot have one.
#include <liburing.h>

#include <cerrno>

#include <fmt/core.h>

#include <peal/engine/uring/parts/uring_poller.h>

namespace peal::detail {
namespace {

// Flags that liburing 2.3 does not define yet; the name of each is beside its value.
constexpr unsigned kEnterNoIowait = 1U << 7;     // IORING_ENTER_NO_IOWAIT, Linux 6.15
constexpr unsigned kFeatureNoIowait = 1U << 17;  // IORING_FEAT_NO_IOWAIT

constexpr unsigned kNeededFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
// IORING_SETUP_SUBMIT_ALL is set because a bad request must not hold back the requests after it. With
// IORING_SETUP_TASKRUN_FLAG the kernel says in shared memory whether it has completions. A wait that must not block can
// then save the system call.
constexpr unsigned kSetupFlags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
                                 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;

}  // namespace

UringPoller::UringPoller() : ring_(std::make_unique<io_uring>()) {
  static_assert(sizeof(Completion) == sizeof(io_uring_cqe));
  takes_sends_ = true;
}

UringPoller::~UringPoller() {
  if (!has_ring_) return;
  finish_removals();
  io_uring_queue_exit(ring_.get());
}

Result<std::unique_ptr<Poller>> UringPoller::make() {
  std::unique_ptr<UringPoller> poller(new UringPoller);
  if (const int error = poller->set_up(); error != 0) return fail(error);
  return poller;
}

int UringPoller::set_up() {
  io_uring_params parameters{};
  parameters.flags = kSetupFlags;
  parameters.cq_entries = kCompletions;
  if (int result = io_uring_queue_init_params(kRequests, ring_.get(), &parameters); result < 0) return -result;
  has_ring_ = true;
  if ((parameters.features & kNeededFeatures) != kNeededFeatures) return EINVAL;
  keep_order(ring_->sq.array, ring_->sq.ring_entries);
  // If the ring is registered, io_uring_enter need not look up its fd in each call. If the kernel refuses to register
  // it, the plain fd is used.
  if (io_uring_register_ring_fd(ring_.get()) == 1) enter_flags_ |= IORING_ENTER_REGISTERED_RING;
  // Without IORING_ENTER_NO_IOWAIT the kernel would count time in which the loop waits for clients as time spent
  // waiting for a disk (iowait).
  if (parameters.features & kFeatureNoIowait) enter_flags_ |= kEnterNoIowait;
  takes_absolute_time_ = submit_and_wait_until(0, TimePoint()) != -EINVAL;
  probing_ = false;
  return 0;
}

void UringPoller::keep_order(unsigned* array, unsigned entries) {
  if (array == nullptr) return;
  for (unsigned i = 0; i < entries; ++i) array[i] = i;
}

std::string UringPoller::why_unsupported() {
  Result<std::unique_ptr<Poller>> poller = make();
  if (poller) return {};
  switch (poller.error().value()) {
    case EPERM:
    case EACCES: return "io_uring is forbidden here (the sysctl kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS: return "this kernel has no io_uring, or a seccomp filter hides it";
    case EINVAL: return "this kernel's io_uring is too old: deferred task work needs Linux 6.1";
    default: return fmt::format("io_uring cannot be set up: {}", poller.error().message());
  }
}

}  // namespace peal::detail
