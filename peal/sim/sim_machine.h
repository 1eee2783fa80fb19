// SPDX-License-Identifier: BSD-3-Clause
// SimMachine: a machine in a SimWorld. It has an IP address, a clock and a disk of its own, and runs a program that a
// power cut ends.
//
//   SimMachine server(world, "10.0.0.1", [](SimMachine& machine) {
//     return std::make_shared<KeyValueService>(machine);   // makes its SimLoop, its servers; reads machine.disk()
//   });
//   client_loop->after(seconds(2), [&] { server.crash(); });
//   client_loop->after(seconds(5), [&] { server.restart(); });
//
// The loops of a machine connect from its address. They may bind to its address, to the wildcard address or to
// loopback. Every machine has its own loopback and unix addresses. A loop of no machine has the same address as the
// peer it talks to. So a client that shall reach a machine over the network, or be cut off from it, has to run on a
// machine too.
//
// A machine is used on the world's thread. It must be destroyed before its world, and outside of the world's steps.
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

// Says how a machine's clock differs from the world's clock. A machine's clock never goes back. If a new setting is
// behind what the clock shows, the clock stands still until the new setting has caught up.
struct SimClock {
  Duration ahead = {};  // how far it is ahead of the world's clock when it is set; from -5 years to 5 years
  double rate = 1;      // seconds of the machine per second of the world; > 0 and at most 1000
};

class SimMachine {
 public:
  // The object that runs on a machine. The machine destroys it in a crash and in its own destructor.
  using Program = std::shared_ptr<void>;
  // A function that starts the machine's program and returns it.
  using Boot = std::function<Program(SimMachine&)>;

  // Makes a machine that has power, and calls `boot`. Each restart() calls `boot` again, outside of the world's steps.
  // If `boot` is called in a restart() while the world runs, it must not run the world; that asserts. If `boot` is
  // empty, the test makes the machine's loops itself. Throws std::invalid_argument if `ip` is not an IP address.
  SimMachine(SimWorld& world, std::string_view ip, Boot boot = {});
  // Destroys the program. Its connections are closed and the peers notice that, as if the program had exited. If the
  // machine has no power, packets to its address are lost without an answer from then on. Asserts that no step of the
  // world is in progress.
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  SimWorld& world() const { return world_; }
  SocketAddress address(uint16_t port) const;
  // Makes an engine for one loop of this machine. The engine may outlive the world. SimLoop and SimLoopGroup call this.
  std::unique_ptr<Engine> make_engine();
  SimDisk& disk() { return disk_; }
  // Returns the time that the machine's clock shows. Loop::now() of the machine's loops returns this time.
  TimePoint now() const;
  // Sets the machine's clock. May be called at any time. Throws std::invalid_argument if a member of `clock` is not
  // within the limits that SimClock states.
  void set_clock(const SimClock& clock);

  // Says what a crash does to the disk. kKept: the files stay, but bytes that were not synced may be lost, see SimDisk.
  // kLost: the disk is empty after the crash.
  enum class Disk : uint8_t { kKept, kLost };
  // Cuts the power. From then on the machine sends nothing, not even a FIN or RST, and packets to it are lost. After
  // that its program is destroyed, which the peers do not notice. Loops that the test made on this machine take no
  // further steps.
  // If crash() is called inside a step or in `boot`, it takes effect after the step or `boot`. Does nothing if the
  // machine has no power.
  void crash(Disk disk = Disk::kKept);
  // Restores the power and calls `boot`. A peer that still uses a connection from before the crash gets a reset. If
  // restart() is called inside a step or in `boot`, it takes effect after the step or `boot`. Does nothing if the
  // machine has power.
  void restart();
  // True if the machine has power.
  bool is_on() const;

 private:
  // Calls `task` at once if no step of the world and no `boot` of this machine is in progress. Otherwise calls `task`
  // as soon as both have ended.
  void call_after_boot(std::move_only_function<void()> task);
  void power_on();
  void power_off(Disk disk);

  SimWorld& world_;
  const std::string name_;  // the machine's address, as the constructor got it
  const SocketAddress ip_;
  const Boot boot_;
  SimClock clock_;
  SimDisk disk_;
  std::shared_ptr<detail::SimHost> host_;
  Program program_;
  bool booting_ = false;
  std::vector<std::move_only_function<void()>> after_boot_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // postponed tasks hold a weak_ptr to see if this lives
};

}  // namespace peal
