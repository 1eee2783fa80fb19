// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/sim_machine.h>

#include <stdexcept>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/when_released.h>
#include <peal/sim/parts/sim_engine.h>
#include <peal/sim/parts/sim_network.h>

namespace peal {
namespace {

constexpr Duration kMostAhead = std::chrono::years(5);

}  // namespace

SimMachine::SimMachine(SimWorld& world, std::string_view ip, Boot boot)
    : world_(world), name_(ip), ip_(detail::parse_ip(ip)), boot_(std::move(boot)), disk_(world.network_, ip_) {
  try {
    power_on();
  } catch (...) {
    world_.network_->hosts.remove(*host_);
    throw;
  }
}

SimMachine::~SimMachine() {
  PEAL_ASSERT(!world_.network_->stepping, "a machine is destroyed inside a step of its world of seed {}",
              world_.seed());
  program_.reset();
  if (host_->on) world_.network_->hosts.remove(*host_);
}

SocketAddress SimMachine::address(uint16_t port) const {
  SocketAddress address = ip_;
  address.set_port(port);
  return address;
}

std::unique_ptr<Engine> SimMachine::make_engine() {
  return std::make_unique<detail::SimEngine>(world_.network_, host_);
}

bool SimMachine::is_on() const { return host_->on; }
TimePoint SimMachine::now() const { return host_->local(world_.now()); }

void SimMachine::set_clock(const SimClock& clock) {
  if (!(clock.rate > 0 && clock.rate <= 1000) || clock.ahead > kMostAhead || clock.ahead < -kMostAhead) {
    throw std::invalid_argument("SimClock: `rate` must be > 0 and at most 1000, `ahead` within five years");
  }
  world_.network_->trace("sets its clock", name_);
  clock_ = clock;
  host_->set_clock(world_.now(), clock.ahead, clock.rate);
}

void SimMachine::call_after_boot(std::move_only_function<void()> task) {
  world_.between_steps([this, alive = std::weak_ptr(alive_), task = std::move(task)]() mutable {
    if (alive.expired()) return;
    if (booting_) {
      after_boot_.push_back(std::move(task));
    } else {
      task();
    }
  });
}

void SimMachine::crash(Disk disk) {
  call_after_boot([this, disk] {
    if (host_->on) power_off(disk);
  });
}

void SimMachine::restart() {
  call_after_boot([this] {
    if (!host_->on) power_on();
  });
}

void SimMachine::power_on() {
  host_ = std::make_shared<detail::SimHost>();
  host_->ip = ip_;
  world_.network_->trace("has power", name_);
  host_->set_clock(world_.now(), clock_.ahead, clock_.rate);
  world_.network_->hosts.add(host_);
  disk_.powered_ = true;
  if (!boot_) return;
  booting_ = true;
  {
    const auto booted = run_when_released([this] { booting_ = false; });
    program_ = boot_(*this);
  }
  for (auto& task : std::exchange(after_boot_, {})) task();
}

void SimMachine::power_off(Disk disk) {
  world_.network_->trace("crashes", name_);
  host_->on = false;
  world_.network_->recheck_links();
  if (disk == Disk::kLost) disk_.files_.clear();
  disk_.lose_unsynced();
  disk_.powered_ = false;
  program_.reset();
}

}  // namespace peal
