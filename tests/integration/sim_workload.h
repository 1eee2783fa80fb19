// SPDX-License-Identifier: BSD-3-Clause
// The servers that sim_seeds_test.cc runs for each seed, and the checks in their callbacks. All run on the test's
// thread.
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

// Returns the byte at position `at` of the stream that client number `visitor` sends. The first byte is the client's
// number. The streams of all clients differ, so that bytes of the wrong client are noticed.
inline char byte_of(uint8_t visitor, size_t at) {
  return static_cast<char>(at == 0 ? visitor : (at * 131 + at / 251 + size_t{visitor} * 17) % 253);
}

// make_stream_file() makes a file in memory. The file contains the first kStreamFileBytes bytes of each client's
// stream, one client after the other. sim_soak_test.cc numbers its clients from 0 to kMostVisitors - 1, and
// sim_seeds_test.cc numbers its clients from 1 to kMostVisitors. Therefore the file contains the streams of the numbers
// 0 to kMostVisitors.
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

  // Every fourth seed has only faults that lose no byte, for example delays. The test can then expect every byte to
  // arrive, unless `meddled` is true. All other seeds have faults of every kind.
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
  const bool pipes = pick(2) == 0;  // the relay uses pipe()
  size_t echo_open = 0;
  size_t echo_cap = std::numeric_limits<size_t>::max();
  // True if a server may have ended or refused a connection because of a timeout, a limit of connections or a drain.
  // Bytes may then be missing without a fault of the network. Network faults do not set this member, because SimStats
  // counts them.
  bool meddled = false;
  std::string trouble;  // the first failed check
};

// Checks that received bytes are the stream of one visitor (a client of the test), in order and without gaps.
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

// The context object of each tested connection. It checks that on_close is called exactly once.
struct Life {
  explicit Life(Workload& its_workload) : workload(its_workload) {}
  ~Life() { workload.check(closed, "a connection was destroyed without on_close"); }
  void close() { workload.check(!std::exchange(closed, true), "on_close was called twice"); }

  Workload& workload;
  bool closed = false;
  Follower follower;
  ConnectionHandle far;          // only in a relay: the connection to the target
  Buffer early;                  // bytes for `far` that arrive before it is open
  std::unique_ptr<Client> onto;  // the client of `far`
};

constexpr Duration kLongestLife = seconds(60);

inline void limit_life(Connection& connection) {
  connection.loop().after(kLongestLife, [handle = connection.handle()] { handle.abort(); });
}

inline ConnectionCallbacks echo(Workload& workload) {
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&workload](Connection& connection) {
    connection.emplace_context<Life>(workload);
    workload.check(++workload.echo_open <= workload.echo_cap, "more connections are open than the cap allows");
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

// Returns random server options. Some seeds have small output queues, some have short timeouts, and some limit the
// number of connections.
inline ServerOptions some_options(Workload& workload) {
  ServerOptions options;
  if (workload.pick(2) == 0) options.connection.high_water_bytes = 8 * 1024;
  if (workload.pick(3) == 0) options.connection.idle_timeout = milliseconds(20 + workload.pick(1'000));
  if (workload.pick(2) == 0) options.connection.write_window = milliseconds(50 + workload.pick(1'000));
  if (workload.pick(6) == 0) options.max_connections = 1 + workload.pick(6);
  if (workload.pick(6) == 0) options.max_connections_per_address = 1 + workload.pick(6);
  return options;
}

// Returns the callbacks of a relay. For each client, the relay opens a connection to `target` and passes all bytes on
// in both directions. Some seeds do this with pipe(), others with on_message.
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
    workload.check(life.onto->connect(target).has_value(), "the relay cannot begin to connect");
  };
  callbacks.on_message = [&workload](Connection& near, Buffer& input) {
    auto& life = near.context<Life>();
    if (workload.pipes) return;  // the input is kept for pipe()
    workload.check(life.follower.follows(input.view()), "the relay got a wrong byte");
    if (life.far) {
      life.far.send(std::move(input));
    } else {
      life.early.append(std::move(input));
    }
  };
  // The peer's FIN may arrive before pipe() is called. Without on_peer_end, this FIN would end the connection, and the
  // input that is kept for pipe() would be lost. Therefore the callback is set, although it does nothing.
  if (workload.pipes) callbacks.on_peer_end = [](Connection&) {};
  callbacks.on_close = [](Connection& near, CloseReason) {
    auto& life = near.context<Life>();
    life.close();
    life.onto->stop();
  };
  return callbacks;
}

}  // namespace peal::test
