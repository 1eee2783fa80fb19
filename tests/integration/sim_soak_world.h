// SPDX-License-Identifier: BSD-3-Clause
// SoakWorld: everything that one seed of sim_soak_test.cc needs: faults, limits, servers and counters. All of it is
// used on the test's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/coro/co_server.h>
#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_world.h>
#include <tests/integration/sim_workload.h>
#include <tests/support/sim_faults.h>

namespace peal::test {

// Returns `size` bytes for the body of a request, an answer or a message. The bytes follow a pattern with a long
// period, so that missing bytes are noticed.
inline std::string soak_bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t at = 0; at < size; ++at) bytes[at] = static_cast<char>('!' + (at * 131 + at / 251) % 90);
  return bytes;
}
constexpr size_t kSoakChunkBytes = 3'000;
constexpr size_t kSoakClientQueueBytes = 8 * 1024;

struct SoakWorld {
  explicit SoakWorld(uint64_t seed) : world(seed, faults_for(seed)), random(seed) {
    // In half of the seeds, sets the soft mark of the memory budget (memory_budget.h). The mark is 100 to 400 kB above
    // the bytes that the budget counts now, so the connections of the test may exceed the mark. Two things happen above
    // the mark:
    // - Connections that hold bytes are not read.
    // - After each 5 s above the mark, the largest connection is closed.
    //
    // The clients' memory counts, too, because the clients are in the same process. WorstClient and GoodEcho therefore
    // queue no more output while more than kSoakClientQueueBytes are queued.
    if (at_soft_mark) {
      const uint64_t soft = MemoryBudget::held_bytes() + 100'000 + pick(300'000);
      MemoryBudget::set({.soft_bytes = soft, .hard_bytes = soft + (uint64_t{1} << 30)});
    }
  }
  ~SoakWorld() { MemoryBudget::set(MemoryBudget::default_marks()); }
  SoakWorld(const SoakWorld&) = delete;
  SoakWorld& operator=(const SoakWorld&) = delete;

  // Every second seed has only faults that lose no byte, for example delays. The test then expects every well-behaved
  // client to be served. The other seeds have faults of every kind.
  static SimOptions faults_for(uint64_t seed) {
    return seed % 2 == 0 ? test::lossless_faults() : SimOptions::hostile();
  }
  // True if the simulated network has harmed a connection: by a reset, a lost peer, a failed connect or a lack of fds.
  bool disturbed() const {
    const SimStats& stats = world.stats();
    return stats.resets + stats.vanished + stats.no_fd + stats.connects_failed > 0;
  }
  size_t pick(size_t bound) { return random() % bound; }
  void check(bool good, std::string_view what) {
    if (!good && trouble.empty()) trouble = fmt::format("{} at {}", what, world.now().time_since_epoch().count());
  }

  SimWorld world;
  std::mt19937_64 random;
  SimLoop here{world};   // for servers
  SimLoop there{world};  // for clients
  const bool at_soft_mark = pick(2) == 0;
  size_t coroutines = 0;
  bool may_cap = false;  // true if a server limits the number of connections
  // True if a server has closed or refused a connection because too many connections were open. The server may have
  // chosen the connection of any client.
  bool capped = false;
  bool short_of_memory = false;  // true if a server paused or closed a connection for lack of memory
  std::string trouble;           // the first failed check
};

// Counts the coroutine frames that exist. Each tested coroutine has a CountedFrame as a local variable.
class CountedFrame {
 public:
  explicit CountedFrame(SoakWorld& world) : world_(world) { ++world_.coroutines; }
  ~CountedFrame() { --world_.coroutines; }
  CountedFrame(const CountedFrame&) = delete;
  CountedFrame& operator=(const CountedFrame&) = delete;

 private:
  SoakWorld& world_;
};

// Returns random server options. Half of the calls set a high-water mark of 8 KiB. Some calls also limit the number of
// connections. The timeouts are short: linger_timeout is below 2.2 s and write_window is below 3.5 s. These timeouts
// end only connections of clients that stop reading, or that do not close after the server's FIN.
inline ServerOptions soak_limits(SoakWorld& world) {
  ServerOptions options;
  if (world.pick(2) == 0) options.connection.high_water_bytes = 8 * 1024;
  options.connection.linger_timeout = milliseconds(200 + world.pick(2'000));
  options.connection.write_window = milliseconds(500 + world.pick(3'000));
  if (world.pick(8) == 0) options.max_connections = 2 + world.pick(6);
  if (world.pick(8) == 0) options.max_connections_per_address = 2 + world.pick(6);
  world.may_cap |= options.max_connections + options.max_connections_per_address > 0;
  return options;
}
// Returns soak_limits() with an idle timeout added. A client may vanish without closing its connection. The echo
// protocol has no timeout of its own, so without the idle timeout this connection would never end.
inline ServerOptions soak_echo_limits(SoakWorld& world) {
  ServerOptions options = soak_limits(world);
  options.connection.idle_timeout = seconds(5 + world.pick(5));
  return options;
}

inline Task<> soak_echo_task(SoakWorld& world, Stream stream) {
  const CountedFrame frame(world);
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty() || !co_await stream.write(std::move(*input))) co_return;
  }
}

// A chat room. It sends each message to all members. The room closes the connection of a member that reads too slowly.
class SoakRoom {
 public:
  explicit SoakRoom(SoakWorld& world) : world_(world) {}
  ~SoakRoom() { world_.check(members_.empty(), "a chat member was destroyed without on_close"); }
  SoakRoom(const SoakRoom&) = delete;
  SoakRoom& operator=(const SoakRoom&) = delete;

  WebSocketEndpoint endpoint() {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](WebSocket& member) { members_.push_back(&member); };
    callbacks.on_message = [this](WebSocket&, WebSocketKind kind, std::string_view said) {
      const WebSocketBroadcast message(kind, said, options_.deflate);
      const std::vector<WebSocket*> listeners = members_;
      for (WebSocket* member : listeners) {
        if (!member->send(message)) member->close(WebSocketCode::kTryAgainLater, "you read too slowly");
      }
    };
    callbacks.on_close = [this](WebSocket& member, uint16_t, std::string_view) {
      world_.check(std::erase(members_, &member) == 1, "on_close of a chat member was called twice");
    };
    return WebSocketEndpoint(std::move(callbacks), {.socket = options_});
  }

 private:
  SoakWorld& world_;
  const WebSocketOptions options_{.message_limit_bytes = 4096,
                                  .ping_interval = seconds(2),
                                  .pong_timeout = seconds(2),
                                  .close_timeout = seconds(1),
                                  .deflate = {.enabled = world_.pick(2) == 0}};
  // The members of the room, in the order in which they joined. Messages are sent to the members in this order. The
  // order must not depend on the addresses of the WebSocket objects, because the addresses differ between two runs of
  // the same seed.
  std::vector<WebSocket*> members_;
};

inline size_t wanted_bytes(const HttpExchange& exchange) {
  return std::min<size_t>(std::strtoull(std::string(exchange.parameter("size")).c_str(), nullptr, 10), 200'000);
}

inline Task<> soak_stream(SoakWorld& world, HttpExchange& exchange) {
  const CountedFrame frame(world);
  const std::string body = soak_bytes(wanted_bytes(exchange));
  exchange.begin(200, "text/plain");
  for (size_t at = 0; at < body.size(); at += kSoakChunkBytes) {
    exchange.write(std::string_view(body).substr(at, kSoakChunkBytes));
    if (!co_await exchange.writable()) co_return;
  }
  exchange.end();
}

inline Task<> soak_post_stream(SoakWorld& world, HttpExchange& exchange) {
  const CountedFrame frame(world);
  exchange.begin(200, "application/octet-stream");
  for (;;) {
    Result<Buffer> piece = co_await exchange.read();
    if (!piece) co_return;
    if (piece->empty()) break;
    exchange.write(std::move(*piece));
    if (!co_await exchange.writable()) co_return;
  }
  exchange.end();
}

inline Task<> soak_sleeper(SoakWorld& world, HttpExchange& exchange) {
  const CountedFrame frame(world);
  const Result<void> slept = co_await sleep(milliseconds(world.pick(20)));
  if (slept) exchange.respond(200, "text/plain", soak_bytes(wanted_bytes(exchange)));
}

inline Router soak_router(SoakWorld& world, SoakRoom& room) {
  static const std::shared_ptr<const Fd> streams = make_stream_file();
  Router router;
  router.get("/bytes/{size}",
             [](HttpExchange& exchange) { exchange.respond(200, "text/plain", soak_bytes(wanted_bytes(exchange))); });
  router.get("/stream/{size}", [&world](HttpExchange& exchange) { return soak_stream(world, exchange); });
  router.get("/sleeper/{size}", [&world](HttpExchange& exchange) { return soak_sleeper(world, exchange); });
  router.get("/later/{size}", [&world](HttpExchange& exchange) {
    exchange.loop().after(milliseconds(world.pick(20)), [handle = exchange.handle(), size = wanted_bytes(exchange)] {
      handle.respond(200, "text/plain", soak_bytes(size));
    });
  });
  router.get("/file", [](HttpExchange& exchange) {
    exchange.respond_file(200, "text/plain", {.file = streams, .offset = 0, .bytes = kStreamFileBytes});
  });
  router.get("/never", [](HttpExchange&) {});
  router.post("/whole", [](HttpExchange& exchange) {
    exchange.read_body([](HttpExchange& its_exchange, std::string&& body) {
      its_exchange.respond(200, "application/octet-stream", body);
    });
  });
  router.post("/pieces", [&world](HttpExchange& exchange) { return soak_post_stream(world, exchange); });
  router.get("/chat", room.endpoint());
  return router;
}

inline HttpServerOptions soak_http_limits(SoakWorld& world) {
  HttpServerOptions options;
  const ServerOptions limits = soak_limits(world);
  options.max_connections = limits.max_connections;
  options.max_connections_per_address = limits.max_connections_per_address;
  options.high_water_bytes = limits.connection.high_water_bytes;
  options.linger_timeout = limits.connection.linger_timeout;
  options.head_timeout = options.idle_timeout = seconds(3 + world.pick(5));
  options.body_window = options.send_window = seconds(2);
  options.min_body_bytes = options.min_send_bytes = 64;
  options.answer_timeout = seconds(2 + world.pick(2));
  options.pooled = world.pick(4) != 0;
  return options;
}

// The servers of one seed, all on one loop: two echo servers, and an HTTP server with a WebSocket chat room.
struct SoakServers {
  explicit SoakServers(SoakWorld& its_world)
      : world(its_world),
        room(world),
        calls(*world.here,
              {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }},
              soak_echo_limits(world)),
        tasks(
            *world.here, [this](Stream stream) { return soak_echo_task(world, std::move(stream)); },
            soak_echo_limits(world)),
        http(*world.here, soak_router(world, room), soak_http_limits(world)) {
    const SimOptions faults = std::exchange(world.world.options(), {});
    calls_at = calls.listen("127.0.0.1:0").value();
    tasks_at = tasks.listen("127.0.0.1:0").value();
    http_at = http.listen("127.0.0.1:0").value();
    world.world.options() = faults;
  }
  size_t connections() { return calls.connections() + tasks.server().connections() + http.connections(); }

  SoakWorld& world;
  SoakRoom room;
  Server calls;
  CoServer tasks;
  HttpServer http;
  SocketAddress calls_at, tasks_at, http_at;
};

}  // namespace peal::test
