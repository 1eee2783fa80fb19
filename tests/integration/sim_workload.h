// SPDX-License-Identifier: BSD-3-Clause
// What sim_seeds_test.cc plays in each world: who serves, and the invariants that hold on the way. The test's thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <peal/base/fd.h>
#include <peal/net/client.h>
#include <peal/net/pipe.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_world.h>
#include <tests/support/sim_faults.h>

namespace peal::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The stream of each visitor is its own, so that no byte of another can pass for it. The first byte is its number.
inline char byte_of(uint8_t visitor, size_t at) {
  return static_cast<char>(at == 0 ? visitor : (at * 131 + at / 251 + size_t{visitor} * 17) % 253);
}

// The first kStreamFileBytes of the streams of visitors 0 to kMostVisitors, one after the other, in a file without
// name.
constexpr size_t kMostVisitors = 8;
constexpr size_t kStreamFileBytes = 16 * 1024;

inline std::shared_ptr<const Fd> make_stream_file() {
  auto file = std::make_shared<Fd>(::memfd_create("streams", MFD_CLOEXEC));
  std::string bytes;
  for (uint8_t visitor = 0; visitor <= kMostVisitors; ++visitor) {
    for (size_t at = 0; at < kStreamFileBytes; ++at) bytes += byte_of(visitor, at);
  }
  PEAL_ASSERT(::write(file->get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
              "a file of {} bytes cannot be written", bytes.size());
  return file;
}

struct Workload {
  explicit Workload(uint64_t seed) : world(seed, options_for(seed)), random(seed) {}

  // Every fourth seed knows delays and interruptions only: there every byte must arrive.
  static SimOptions options_for(uint64_t seed) {
    return seed % 4 == 0 ? test::lossless_faults() : SimOptions::hostile();
  }
  bool undisturbed() const {
    const SimStats& stats = world.stats();
    return !meddled && stats.resets + stats.vanished + stats.no_fd + stats.connects_failed == 0;
  }
  size_t pick(size_t bound) { return random() % bound; }
  void check(bool good, std::string_view what) {
    if (!good && trouble.empty()) trouble = fmt::format("{} at {}", what, world.now().time_since_epoch().count());
  }

  SimWorld world;
  std::mt19937_64 random;
  SimLoop here{world};
  SimLoop there{world};
  const bool pipes = pick(2) == 0;  // the relay's way
  size_t echo_open = 0;
  size_t echo_cap = std::numeric_limits<size_t>::max();
  bool meddled = false;  // a deadline, a cap or a drain may have ended somebody
  std::string trouble;   // the first
};

// Follows one visitor's stream, wherever it passes.
class Follower {
 public:
  bool follows(std::string_view bytes) {
    for (char byte : bytes) {
      if (at_ == 0) visitor_ = static_cast<uint8_t>(byte);
      if (byte != byte_of(visitor_, at_++)) return false;
    }
    return true;
  }
  size_t at() const { return at_; }
  uint8_t visitor() const { return visitor_; }

 private:
  size_t at_ = 0;
  uint8_t visitor_ = 0;
};

// One end of a connection under test: that it opens and closes once is checked here.
struct Life {
  explicit Life(Workload& its_workload) : workload(its_workload) {}
  ~Life() { workload.check(closed, "a connection died without on_close"); }
  void close() { workload.check(!std::exchange(closed, true), "on_close came twice"); }

  Workload& workload;
  bool closed = false;
  Follower follower;
  ConnectionHandle far;          // of a relay
  Buffer early;                  // for it, before it is there
  std::unique_ptr<Client> onto;  // its connection
};

constexpr Duration kLongestLife = seconds(60);

inline void limit_life(Connection& connection) {
  connection.loop().after(kLongestLife, [handle = connection.handle()] { handle.abort(); });
}

inline ConnectionCallbacks echo(Workload& workload) {
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&workload](Connection& connection) {
    connection.emplace_context<Life>(workload);
    workload.check(++workload.echo_open <= workload.echo_cap, "more are open than the cap");
    limit_life(connection);
  };
  callbacks.on_message = [&workload](Connection& connection, Buffer& input) {
    workload.check(connection.context<Life>().follower.follows(input.view()), "the echo got a wrong byte");
    connection.send(std::move(input));
  };
  callbacks.on_close = [&workload](Connection& connection, CloseReason) {
    --workload.echo_open;
    connection.context<Life>().close();
  };
  return callbacks;
}

// Small queues, deadlines and caps, by chance.
inline ServerOptions some_options(Workload& workload) {
  ServerOptions options;
  if (workload.pick(2) == 0) options.connection.high_water_bytes = 8 * 1024;
  if (workload.pick(3) == 0) options.connection.idle_timeout = milliseconds(20 + workload.pick(1'000));
  if (workload.pick(2) == 0) options.connection.write_window = milliseconds(50 + workload.pick(1'000));
  if (workload.pick(6) == 0) options.max_connections = 1 + workload.pick(6);
  if (workload.pick(6) == 0) options.max_connections_per_address = 1 + workload.pick(6);
  return options;
}

// What comes in goes on to `target`, and back: by pipe(), or by hand.
inline ConnectionCallbacks relay(Workload& workload, const SocketAddress& target) {
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&workload, target](Connection& near) {
    auto& life = near.emplace_context<Life>(workload);
    limit_life(near);
    const ConnectionHandle back = near.handle();
    ConnectionCallbacks onward;
    onward.on_open = [back, pipes = workload.pipes](Connection& far) {
      if (pipes) {
        back.run([&far](Connection& its_near) {
          if (!pipe(its_near, far)) far.close();
        });
        return;
      }
      back.run([handle = far.handle()](Connection& its_near) {
        auto& its_life = its_near.context<Life>();
        its_life.far = handle;
        handle.send(std::move(its_life.early));
      });
    };
    onward.on_message = [back](Connection&, Buffer& input) { back.send(std::move(input)); };
    onward.on_close = [back](Connection&, CloseReason) { back.close(); };
    life.onto = std::make_unique<Client>(near.loop(), std::move(onward), ClientOptions{},
                                         [back](std::error_code, Duration) { back.abort(); });
    workload.check(life.onto->connect(target).has_value(), "the relay cannot even begin to connect");
  };
  callbacks.on_message = [&workload](Connection& near, Buffer& input) {
    auto& life = near.context<Life>();
    if (workload.pipes) return;  // kept, for pipe()
    workload.check(life.follower.follows(input.view()), "the relay got a wrong byte");
    if (life.far) {
      life.far.send(std::move(input));
    } else {
      life.early.append(std::move(input));
    }
  };
  // One that ends before it is piped.
  if (workload.pipes) callbacks.on_peer_end = [](Connection&) {};
  callbacks.on_close = [](Connection& near, CloseReason) {
    auto& life = near.context<Life>();
    life.close();
    life.onto->stop();
  };
  return callbacks;
}

}  // namespace peal::test
