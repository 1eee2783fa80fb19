// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/sim_world.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/sim/parts/sim_engine.h>
#include <peal/sim/parts/sim_network.h>

namespace peal {

struct SimWorld::Driven {
  const detail::SimEngine& engine;
  Step step;
};

namespace {

// Sets a flag to true for the lifetime of the guard.
class FlagGuard {
 public:
  explicit FlagGuard(bool& flag) : flag_(flag) { flag_ = true; }
  ~FlagGuard() { flag_ = false; }
  FlagGuard(const FlagGuard&) = delete;
  FlagGuard& operator=(const FlagGuard&) = delete;

 private:
  bool& flag_;
};

}  // namespace

SimOptions SimOptions::hostile() {
  SimOptions options;
  options.jitter = std::chrono::microseconds(500);
  options.send_buffer_bytes = options.receive_buffer_bytes = 8 * 1024;
  options.short_read = options.short_write = 0.2;
  options.interrupted = options.again = 0.1;
  options.late = 0.2;
  options.reset = options.vanish = 0.0005;
  options.refuse = options.unreachable = options.swallow = 0.02;
  options.no_fd = 0.02;
  options.lose_datagram = options.double_datagram = options.overtaken_datagram = 0.1;
  options.disk_error = 0.005;
  return options;
}

SimWorld::SimWorld(uint64_t seed, const SimOptions& options) : SimWorld(seed, options, nullptr) {}
SimWorld::SimWorld(uint64_t seed, const SimOptions& options, std::shared_ptr<detail::SimFaultPlan> plan)
    : network_(std::make_shared<detail::SimNetwork>(seed, options, std::move(plan))) {}

std::unique_ptr<Engine> SimWorld::make_engine() { return std::make_unique<detail::SimEngine>(network_, nullptr); }

std::shared_ptr<void> SimWorld::drive(Engine& engine, Step step) {
  auto* own = dynamic_cast<detail::SimEngine*>(&engine);
  PEAL_ASSERT(own != nullptr && &own->network() == network_.get() && !network_->stepping,
              "drive() of the world of seed {} got an engine of another world, or was called inside a step", seed());
  auto driven = std::make_shared<Driven>(Driven{*own, std::move(step)});
  driven_.push_back(driven);
  return driven;
}

TimePoint SimWorld::now() const { return network_->now(); }
uint64_t SimWorld::seed() const { return network_->seed(); }
SimOptions& SimWorld::options() { return network_->options; }
const SimStats& SimWorld::stats() const { return network_->stats; }
NameTable& SimWorld::names() { return network_->names; }
uint64_t SimWorld::trace_hash() const { return network_->trace_hash(); }
std::string SimWorld::trace_tail(size_t lines) const { return network_->trace_tail(lines); }

void SimWorld::fail(std::string why) {
  if (!failure_.empty()) return;
  failure_ = why.empty() ? "it failed" : std::move(why);
  network_->trace("the world fails", 0, 0);
}

bool SimWorld::expect(bool good, std::string_view what) {
  if (!good) fail(std::string(what));
  return good;
}

SimOptions& SimWorld::link(std::string_view from, std::string_view to) {
  std::unique_ptr<SimOptions>& own = network_->hosts.path(detail::parse_ip(from), detail::parse_ip(to)).options;
  if (!own) own = std::make_unique<SimOptions>(network_->options);
  return *own;
}

void SimWorld::cut(std::string_view from, std::string_view to) {
  network_->hosts.path(detail::parse_ip(from), detail::parse_ip(to)).cut = true;
  network_->trace("cut", fmt::format("{} -> {}", from, to));
  network_->recheck_links();
}

void SimWorld::partition(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  for (const std::string& one : some) {
    for (const std::string& other : others) {
      cut(one, other);
      cut(other, one);
    }
  }
}

void SimWorld::heal(std::string_view from, std::string_view to) {
  network_->hosts.path(detail::parse_ip(from), detail::parse_ip(to)).cut = false;
  network_->trace("healed", fmt::format("{} -> {}", from, to));
}

void SimWorld::heal() {
  network_->hosts.heal();
  network_->trace("healed", "all");
}

void SimWorld::between_steps(std::move_only_function<void()> task) {
  if (network_->stepping) {
    network_->between_steps.push_back(std::move(task));
  } else {
    task();
  }
}

void SimWorld::after(Duration delay, std::move_only_function<void()> task) {
  network_->after(delay, [network = network_.get(), task = std::move(task)]() mutable {
    network->between_steps.push_back(std::move(task));
  });
}

bool SimWorld::call_between_steps() {
  if (network_->between_steps.empty()) return false;
  while (!network_->between_steps.empty()) {
    auto task = std::move(network_->between_steps.front());
    network_->between_steps.pop_front();
    task();
  }
  return true;
}

// Runs one step of each loop, in an order that chance decides. Returns true if a step or a task between the steps did
// something.
bool SimWorld::step_all() {
  PEAL_ASSERT(!running_, "a world of seed {} is run from inside itself", seed());
  const FlagGuard running(running_);
  size_t done = call_between_steps() ? 1 : 0;
  std::erase_if(driven_, [](const auto& driven) { return driven.expired(); });
  if (driven_.empty()) return done > 0;
  const size_t count = driven_.size();  // a step may add loops; they wait for the next round
  const size_t first = network_->random(count);
  for (size_t i = 0; i < count; ++i) {
    auto driven = driven_[(first + i) % count].lock();
    if (driven && driven->engine.powered()) {
      const FlagGuard stepping(network_->stepping);
      done += driven->step();
    }
    driven.reset();
    done += call_between_steps() ? 1 : 0;
  }
  return done > 0;
}

TimePoint SimWorld::next_due() const {
  TimePoint next = network_->next_due();
  for (const auto& driven : driven_) {
    if (auto living = driven.lock()) next = std::min(next, living->engine.asked_until());
  }
  return next;
}

// Runs one step of each loop. If no step did anything, moves the clock to the next event or timer, unless that is after
// `end`.
SimWorld::Round SimWorld::run_round(TimePoint end) {
  if (!failure_.empty()) return Round::kOver;
  if (step_all()) {
    idle_rounds_ = 0;
    return Round::kBusy;
  }
  const TimePoint due = next_due();
  if (due > end || due == kNever) return Round::kOver;
  // A few rounds in which no loop does anything are normal, because a timer wheel may need several cascades before a
  // timer fires.
  constexpr int kMostIdleRounds = 1000;
  idle_rounds_ = due > now() ? 0 : idle_rounds_ + 1;
  PEAL_ASSERT(idle_rounds_ < kMostIdleRounds, "{} rounds in which something was due and no loop did anything",
              idle_rounds_);
  network_->advance_to(due);
  return Round::kQuiet;
}

bool SimWorld::run_until(const std::function<bool()>& done, Duration limit) {
  const TimePoint end = later(now(), limit);
  while (!done()) {
    if (run_round(end) != Round::kOver && now() <= end) continue;
    if (failure_.empty() && next_due() != kNever) network_->advance_to(end);
    return done() && failure_.empty();
  }
  return failure_.empty();
}

void SimWorld::run_for(Duration time) {
  const TimePoint end = later(now(), time);
  while (run_round(end) != Round::kOver) {
  }
  if (!failure_.empty()) return;
  if (end != kNever) network_->advance_to(end);
  const FlagGuard running(running_);
  call_between_steps();
}

bool SimWorld::run_until_idle(Duration limit) {
  const TimePoint end = later(now(), limit);
  while (now() <= end) {
    if (run_round(end) == Round::kOver) return failure_.empty() && next_due() == kNever;
  }
  return false;
}

}  // namespace peal
