// SPDX-License-Identifier: BSD-3-Clause
// SimMachine: a machine in a SimWorld: an address, a clock and a disk of its own, and programs that a power cut ends.
//
//   SimMachine server(world, "10.0.0.1", [](SimMachine& machine) {
//     return std::make_shared<KeyValueService>(machine);   // makes its SimLoop, its servers; reads machine.disk()
//   });
//   client_loop->after(seconds(2), [&] { server.crash(); });
//   client_loop->after(seconds(5), [&] { server.restart(); });
//
// What a machine's loops connect from is its address, they bind to it, to any or to loopback, and loopback and unix
// addresses are its own. A loop of no machine has the address of whoever it talks to: where there are machines, whoever
// is to reach them, or to be cut off from them, is on one. The world's thread; dies before its world, outside of its
// steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <peal/engine/engine.h>
#include <peal/sim/sim_disk.h>
#include <peal/sim/sim_world.h>

namespace peal {

namespace detail {
struct SimHost;
}

// Of a machine, against the world's. It goes on, however it is set: one that is set back stands still meanwhile.
struct SimClock {
  Duration ahead = {};  // when it is set; may be negative; at most five years either way
  double rate = 1;      // > 0, <= 1000: seconds of the machine in one of the world
};

class SimMachine {
 public:
  // What runs on a machine: destroyed with it and in a crash.
  using Program = std::shared_ptr<void>;
  using Boot = std::function<Program(SimMachine&)>;

  // `boot` is called now and in each restart(), outside of the world's steps; none: what runs here is made by others.
  // In a restart() while the world is run it cannot run the world itself. std::invalid_argument: `ip` is no IP address.
  SimMachine(SimWorld& world, std::string_view ip, Boot boot = {});
  // Its program ends as it does in life: its connections are closed. Without power, its address stays silent.
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  SimWorld& world() const { return world_; }
  SocketAddress address(uint16_t port) const;
  // As SimWorld::make_engine(), for a loop of this machine. SimLoop and SimLoopGroup do this.
  std::unique_ptr<Engine> make_engine();
  SimDisk& disk() { return disk_; }
  // What its loops see as now().
  TimePoint now() const;
  // At any time. std::invalid_argument: it is not within the limits above.
  void set_clock(const SimClock& clock);

  // The power fails: nothing of this machine is sent any more, no FIN and no RST, and what is sent to it gets lost.
  // Then its program is destroyed, which reaches nobody; loops that others made here are not stepped any more. Inside a
  // step or in `boot`, all of this happens after it.
  enum class Disk : uint8_t { kKept, kLost };  // kKept: as SimDisk has it; kLost: it comes back empty
  void crash(Disk disk = Disk::kKept);
  // The power comes back, and `boot` is called. Who still believes in a connection of before meets a reset. Inside a
  // step or in `boot`, after it.
  void restart();
  bool is_on() const;

 private:
  // Outside of the world's steps, and not while `boot` is at work.
  void call_after_boot(std::move_only_function<void()> task);
  void power_on();
  void power_off(Disk disk);

  SimWorld& world_;
  const std::string name_;  // its address
  const SocketAddress ip_;
  const Boot boot_;
  SimClock clock_;
  SimDisk disk_;
  std::shared_ptr<detail::SimHost> host_;
  Program program_;
  bool booting_ = false;
  std::vector<std::move_only_function<void()>> after_boot_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // asked by what is left for after a step
};

}  // namespace peal
