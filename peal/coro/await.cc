// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/await.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>

#include <peal/loop/loop.h>

namespace peal::detail {

// The categories of layers: a Why has the place of its own here above its value. One a kind of layer, for good.
static std::array<std::atomic<const std::error_category*>, 15> layers;
static constexpr int kPlaceShift = 16;

Why why_of(std::error_code error) {
  const std::error_category* category = &error.category();
  if (*category == trouble_category()) return -error.value();
  if (*category == std::generic_category() || *category == std::system_category()) return error.value();
  for (int place = 1; auto& layer : layers) {
    const std::error_category* there = nullptr;
    if (layer.compare_exchange_strong(there, category) || there == category)
      return place << kPlaceShift | error.value();
    ++place;
  }
  return EPROTO;
}

std::error_code code_of(Why why) {
  if (why < 0) return make_error_code(static_cast<Trouble>(-why));
  const auto place = static_cast<size_t>(why >> kPlaceShift);
  return place == 0 ? errno_code(why) : std::error_code(why % (1 << kPlaceShift), *layers.at(place - 1));
}

void ReadyQueue::push(Runnable& what) {
  what.next_ready = nullptr;
  (first_ == nullptr ? first_ : last_->next_ready) = &what;
  last_ = &what;
}

void ReadyQueue::drain() {
  while (Runnable* next = first_) {
    first_ = next->next_ready;
    next->run();
  }
}

void Strand::cancel(Why why) noexcept {
  if (cancelled_ == 0 || why == why_of(Trouble::kLoopStopped)) cancelled_ = why;
  if (waiting_ != nullptr) waiting_->cancel(cancelled_);
}

// What a deadline leaves in the wheel. Its closure dies uncalled only when the wait ends first, or the loop does.
struct Wait::Alarm {
  explicit Alarm(Wait& its_wait) : wait(&its_wait) {}
  Alarm(Alarm&& other) noexcept : wait(std::exchange(other.wait, nullptr)) {}
  Alarm& operator=(Alarm&&) = delete;
  ~Alarm() { ring(why_of(Trouble::kLoopStopped)); }
  void operator()() { ring(ETIMEDOUT); }
  void ring(Why why) noexcept {
    Wait* rung = std::exchange(wait, nullptr);
    if (rung == nullptr || !rung->timed()) return;
    rung->marks_ &= ~kTimed;
    rung->cancel(why);
  }

  Wait* wait;
};

bool Wait::begin_slow() {
  why_ = strand_->cancelled();
  if (why_ == 0) return arm();
  marks_ &= ~kTimed;
  return false;
}

// Of a loop that has stopped nothing may be there any more.
bool Wait::arm() {
  const Duration timeout(timing_);
  marks_ &= ~kTimed;
  const bool stopped = strand_->cancelled() == why_of(Trouble::kLoopStopped);
  const TimerId timer = stopped ? TimerId{} : strand_->loop().after(timeout, Alarm(*this));
  if (!timer) {
    why_ = why_of(Trouble::kLoopStopped);
    return false;
  }
  timing_ = std::bit_cast<int64_t>(timer);
  marks_ |= kTimed;
  strand_->wait_in(this);
  return true;
}

void Wait::complete_slow() noexcept {
  const bool was_selected = selected();
  marks_ &= ~kSelected;
  end();
  if (!was_selected) return ReadyQueue::run(*this);
  strand_->on_done();
}

void Wait::disarm() noexcept {
  marks_ &= ~kTimed;
  strand_->loop().cancel(std::bit_cast<TimerId>(timing_));
}

}  // namespace peal::detail
