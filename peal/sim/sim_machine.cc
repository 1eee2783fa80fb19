// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/sim_machine.h>

#include <stdexcept>
#include <utility>

#include <peal/base/assert.h>
#include <peal/sim/parts/sim_engine.h>
#include <peal/sim/parts/sim_network.h>

namespace peal {

SimMachine::SimMachine(SimWorld& world, std::string_view ip, Boot boot)
    : world_(world), ip_(detail::parse_ip(ip)), boot_(std::move(boot)), disk_(world.network_, ip_) {
  power_on();
}

SimMachine::~SimMachine() {
  PEAL_ASSERT(!world_.network_->stepping, "a machine is destroyed inside a step of its world of seed {}",
              world_.seed());
  program_.reset();
  world_.network_->hosts.remove(*host_);
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
  if (!(clock.rate > 0)) throw std::invalid_argument("a clock that does not go");
  clock_ = clock;
  host_->set_clock(world_.now(), clock.ahead, clock.rate);
}

void SimMachine::crash(Disk disk) {
  world_.between_steps([this, disk, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && host_->on) power_off(disk);
  });
}

void SimMachine::restart() {
  world_.between_steps([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && !host_->on) power_on();
  });
}

void SimMachine::power_on() {
  host_ = std::make_shared<detail::SimHost>();
  host_->ip = ip_;
  set_clock(clock_);
  world_.network_->hosts.add(host_);
  if (boot_) program_ = boot_(*this);
}

void SimMachine::power_off(Disk disk) {
  world_.network_->trace("crashes", 0, 0);
  host_->on = false;
  if (disk == Disk::kLost) disk_.files_.clear();
  disk_.settle_after_crash();
  disk_.refuses_ = true;
  program_.reset();
  disk_.refuses_ = false;
}

}  // namespace peal
