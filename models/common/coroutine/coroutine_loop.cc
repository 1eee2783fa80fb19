// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/coroutine_loop.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/co_socket.h>
#include <models/common/plain_sockets.h>
#include <models/common/reactor/wait_time.h>

namespace peal::models {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

CoroutineLoop::CoroutineLoop(const ModelOptions& options, const Stop& stop, Fd epoll)
    : options_(options),
      stop_(stop),
      epoll_(std::move(epoll)),
      events_(options.events_per_wait),
      slow_(options.slow_timeout),
      pauses_(kRoomPause) {}

CoroutineLoop::~CoroutineLoop() { PEAL_ASSERT(live_ == 0, "{} coroutines have not ended", live_); }

Result<std::unique_ptr<CoroutineLoop>> CoroutineLoop::make(const ModelOptions& options, const Stop& stop) {
  Result<Fd> epoll = stop.make_epoll();
  if (!epoll) return std::unexpected(epoll.error());
  return std::unique_ptr<CoroutineLoop>(new CoroutineLoop(options, stop, std::move(*epoll)));
}

void CoroutineLoop::begin(Waiter& coroutine) {
  ++live_;
  make_ready(coroutine);
}

void CoroutineLoop::ended() {
  PEAL_ASSERT(live_ > 0, "more coroutines have ended than began");
  --live_;
}

Result<void> CoroutineLoop::run() {
  bool active = false;
  while (live_ > 0) {
    run_ready();
    if (stopping_) {
      unwind();
      break;
    }
    if (live_ == 0) break;
    const int events = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), timeout_ms(active));
    if (events < 0 && errno != EINTR) {
      const int error = errno;
      unwind();
      return fail(error);
    }
    handle(events);
    resume_late();
    active = events > 0;
  }
  return {};
}

// Resumes the coroutines that are ready when run_ready() begins. Coroutines that become ready later are resumed after
// the next epoll_wait(2). Otherwise coroutines that always make each other ready would keep the loop from calling
// epoll_wait(2).
void CoroutineLoop::run_ready() {
  WaitList turn;
  turn.append(ready_);
  while (!turn.empty()) turn.pop_front().resume();
}

void CoroutineLoop::handle(int events) {
  for (int i = 0; i < events && !stopping_; ++i) {
    if (events_[i].data.ptr == nullptr) {
      stopping_ = true;
    } else {
      static_cast<CoSocket*>(events_[i].data.ptr)->on_events(events_[i].events);
    }
  }
}

void CoroutineLoop::resume_late() {
  if (slow_.next() == kNever && pauses_.next() == kNever) return;
  const TimePoint now = monotonic_now();
  for (SlowList* list : {&slow_, &pauses_}) {
    for (SlowNode* node = list->take_late(now); node != nullptr && !stopping_; node = list->take_late(now)) {
      CoSocket* socket = static_cast<CoSocket*>(node);
      socket->late_ = list == &slow_;
      socket->wake();
    }
  }
}

int CoroutineLoop::timeout_ms(bool active) const {
  if (!ready_.empty() || (active && options_.dynamic_timeout)) return 0;
  return wait_ms(std::min(slow_.next(), pauses_.next()));
}

void CoroutineLoop::unwind() {
  stopping_ = true;
  while (live_ > 0) {
    ready_.append(at_sockets_);
    for (CoCondition* condition : conditions_) condition->notify_all();
    PEAL_ASSERT(live_ == 0 || !ready_.empty(), "{} coroutines have not ended, but none of them is in a list of waiters",
                live_);
    run_ready();
  }
}

bool CoroutineLoop::stop_asked() {
  const TimePoint now = monotonic_now();
  if (!stopping_ && now - looked_ >= kBetweenLooks) {
    looked_ = now;
    stopping_ = stop_.asked();
  }
  return stopping_;
}

}  // namespace peal::models
