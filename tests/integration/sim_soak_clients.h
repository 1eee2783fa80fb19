// SPDX-License-Identifier: BSD-3-Clause
// The clients of sim_soak_test.cc: clients that misbehave, and well-behaved clients that must be served at the same
// time. All run on the test's thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <peal/http/client/http_client.h>
#include <peal/http/websocket/websocket_client.h>
#include <tests/integration/sim_soak_world.h>
#include <tests/support/websocket_frames.h>

namespace peal::test {

enum class SoakProtocol : uint8_t { kCalls, kTasks, kHttp, kChat };

inline SocketAddress soak_address(const SoakServers& servers, SoakProtocol protocol) {
  if (protocol == SoakProtocol::kCalls) return servers.calls_at;
  return protocol == SoakProtocol::kTasks ? servers.tasks_at : servers.http_at;
}

// Returns a random HTTP request, as the bytes that a client sends.
inline std::string soak_request(SoakWorld& world) {
  const size_t size = world.pick(4) == 0 ? world.pick(60'000) : world.pick(2'000);
  switch (world.pick(9)) {
    case 0: return fmt::format("GET /bytes/{} HTTP/1.1\r\nHost: x\r\n\r\n", size);
    case 1: return fmt::format("GET /stream/{} HTTP/1.1\r\nHost: x\r\n\r\n", size);
    case 2: return fmt::format("GET /sleeper/{} HTTP/1.1\r\nHost: x\r\n\r\n", size);
    case 3: return fmt::format("GET /later/{} HTTP/1.1\r\nHost: x\r\n\r\n", size);
    case 4: return "GET /file HTTP/1.1\r\nHost: x\r\n\r\n";
    case 5:
      return fmt::format("POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", size, soak_bytes(size));
    case 6:
      return fmt::format(
          "POST /pieces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n", size + 1,
          soak_bytes(size + 1));
    case 7: return fmt::format("GET /bytes/{} HTTP/1.0\r\n\r\n", size);
    default: return "GET /never HTTP/1.1\r\nHost: x\r\n\r\n";
  }
}

inline std::string soak_frame(SoakWorld& world) {
  const std::string text = soak_bytes(world.pick(2'000));
  switch (world.pick(8)) {
    case 0: return client_frame(WebSocketOpcode::kPing, "are you there");
    case 1: return client_frame(WebSocketOpcode::kText, text, false) + client_frame(WebSocketOpcode::kContinuation, "");
    case 2: return client_frame(WebSocketOpcode::kClose, {});
    default: return client_frame(WebSocketOpcode::kText, text);
  }
}

inline std::string soak_message(SoakWorld& world, SoakProtocol protocol) {
  if (protocol == SoakProtocol::kHttp) return soak_request(world);
  if (protocol == SoakProtocol::kChat) return soak_frame(world);
  return soak_bytes(1 + world.pick(4'000));
}

// A client that misbehaves in the way that its Kind describes. If the server does not close the connection, the client
// leaves after a random time.
class WorstClient {
 public:
  enum class Kind : uint8_t {
    kReadsSlowly,
    kNeverReads,  // sends requests, but does not read the answers
    kResets,      // at any moment
    kHalfCloses,  // also in the middle of a message
    kStalls,      // in the middle of a message
    kFloods,
    kDrips,  // one byte at a time
    kSpeaksGarbage,
  };
  static constexpr size_t kKinds = 8;

  WorstClient(SoakServers& servers, SoakProtocol protocol)
      : world_(servers.world),
        protocol_(protocol),
        kind_(static_cast<Kind>(world_.pick(kKinds))),
        loop_(*world_.there),
        client_(loop_, callbacks(), options(), [this](std::error_code, Duration) { over_ = true; }) {
    world_.check(client_.connect(soak_address(servers, protocol)).has_value(),
                 "a worst client cannot begin to connect");
  }
  ~WorstClient() {
    loop_.cancel(act_);
    loop_.cancel(end_);
  }
  WorstClient(const WorstClient&) = delete;
  WorstClient& operator=(const WorstClient&) = delete;
  bool over() const { return over_; }

 private:
  static ClientOptions options() {
    ClientOptions options;
    options.connect_timeout = seconds(5);
    options.connection.min_write_bytes = 0;
    return options;
  }
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      handle_ = connection.handle();
      if (kind_ == Kind::kNeverReads) connection.pause();
      if (kind_ == Kind::kResets && world_.pick(8) == 0) return connection.abort();
      if (protocol_ == SoakProtocol::kChat && world_.pick(8) != 0) {
        pending_ =
            "GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
      }
      act_soon(5);
      end_ = loop_.after(milliseconds(1 + world_.pick(world_.pick(2) == 0 ? 100 : 20'000)), [this] { leave(); });
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      if (kind_ == Kind::kReadsSlowly) {
        input.consume(std::min<size_t>(input.size(), 1 + world_.pick(500)));
        connection.pause();
        rests_ = true;
        return;
      }
      input.clear();
      if (kind_ == Kind::kResets && world_.pick(3) == 0) connection.abort();
    };
    callbacks.on_peer_end = [this](Connection& connection) {
      // The server has sent FIN. In half of the cases, the client now closes its connection, too. Otherwise it stays
      // connected for a random time.
      if (world_.pick(2) == 0) connection.close();
    };
    callbacks.on_close = [this](Connection&, CloseReason) {
      world_.check(!std::exchange(over_, true), "a worst client was closed twice");
      loop_.cancel(act_);
      loop_.cancel(end_);
    };
    return callbacks;
  }
  void act_soon(size_t most_milliseconds) {
    act_ = loop_.after(milliseconds(world_.pick(most_milliseconds + 1)),
                       [this] { handle_.run([this](Connection& connection) { act(connection); }); });
  }
  void fill() {
    if (pending_.empty()) pending_ = soak_message(world_, protocol_);
  }
  void say(Connection& connection, size_t most) {
    if (connection.queued_bytes() > kSoakClientQueueBytes) return;
    fill();
    const std::string piece = pending_.substr(0, most);
    pending_.erase(0, piece.size());
    connection.send(piece);
  }
  void act(Connection& connection) {
    if (acts_++ >= 60 || !connection.can_send()) return;
    switch (kind_) {
      case Kind::kReadsSlowly:
        if (rests_) connection.resume();
        if (acts_ < 10) say(connection, world_.pick(5'000));
        return act_soon(200);
      case Kind::kNeverReads:
        for (int count = 0; count < 8; ++count) say(connection, std::string::npos);
        return act_soon(50);
      case Kind::kResets:
        say(connection, world_.pick(3'000));
        if (world_.pick(4) == 0) return connection.abort();
        return act_soon(10);
      case Kind::kHalfCloses:
        say(connection, world_.pick(3'000));
        if (world_.pick(3) == 0) return connection.shutdown_send();
        return act_soon(10);
      case Kind::kStalls: fill(); return say(connection, world_.pick(pending_.size()));
      case Kind::kFloods:
        for (int count = 0; count < 8; ++count) say(connection, std::string::npos);
        return act_soon(3);
      case Kind::kDrips: say(connection, 1); return act_soon(300);
      case Kind::kSpeaksGarbage:
        fill();
        for (size_t count = world_.pick(4); count > 0; --count) {
          pending_[world_.pick(pending_.size())] = static_cast<char>(world_.pick(256));
        }
        say(connection, std::string::npos);
        return act_soon(20);
    }
  }
  void leave() {
    const bool resets = world_.pick(2) == 0;
    if (resets) {
      handle_.abort();
      return;
    }
    handle_.run([this](Connection& connection) {
      if (world_.pick(2) == 0) connection.resume();
      connection.close();
    });
    end_ = loop_.after(seconds(60), [this] { handle_.abort(); });
  }

  SoakWorld& world_;
  const SoakProtocol protocol_;
  const Kind kind_;
  Loop& loop_;
  ConnectionHandle handle_;
  std::string pending_;  // the rest of the message that is being sent
  TimerId act_, end_;
  size_t acts_ = 0;
  bool rests_ = false;
  bool over_ = false;
  Client client_;
};

// The base class of the well-behaved clients. A well-behaved client must get everything that it asks for, whatever the
// misbehaving clients do. There are three cases in which judge() in sim_soak_test.cc accepts that the client gets less.
// The network has harmed a connection, a server with a limit on connections was full, or memory was short.
class GoodClient {
 public:
  explicit GoodClient(SoakWorld& world) : world_(world), loop_(*world.there) {
    // Gives up after 20 minutes of simulated time. A fault of the simulated network (SimOptions::vanish) can drop all
    // further packets of a connection, and neither end gets an error. Without the timer, the client would wait forever.
    patience_ = loop_.after(std::chrono::minutes(20), [this] { give_up(); });
  }
  virtual ~GoodClient() { loop_.cancel(patience_); }
  GoodClient(const GoodClient&) = delete;
  GoodClient& operator=(const GoodClient&) = delete;
  virtual bool over() const = 0;
  virtual bool served() const = 0;
  // Returns true if this client may have stopped reading its connections because memory was short. All servers and
  // clients share one memory budget, because they are in one process. HTTP and WebSocket clients do not report such
  // pauses. The base class therefore returns true if a server has paused or closed a connection for lack of memory.
  virtual bool paused_itself() const { return world_.short_of_memory; }
  // Returns the failure message for a client that was not served. The message says how much the client has received,
  // which request has failed, or that a request was repeated.
  virtual std::string complaint() const = 0;

 protected:
  virtual void give_up() = 0;
  // Calls `task` after a random time below 10 ms. If the client is destroyed before that, `task` is not called.
  void soon(Loop::Callback task) {
    loop_.after(milliseconds(world_.pick(10)), [alive = std::weak_ptr<char>(alive_), task = std::move(task)]() mutable {
      if (!alive.expired()) task();
    });
  }

  SoakWorld& world_;
  Loop& loop_;
  TimerId patience_;

 private:
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

// Sends bytes to an echo server. Expects to receive the same bytes.
class GoodEcho final : public GoodClient {
 public:
  GoodEcho(SoakServers& servers, SoakProtocol protocol, uint8_t number)
      : GoodClient(servers.world),
        number_(number),
        total_(1 + (world_.pick(3) == 0 ? world_.pick(120'000) : world_.pick(5'000))),
        half_closes_(world_.pick(2) == 0),
        client_(loop_, callbacks(), options(), [this](std::error_code, Duration) { over_ = true; }) {
    world_.check(client_.connect(soak_address(servers, protocol)).has_value(), "a client cannot begin to connect");
  }
  bool over() const override { return over_; }
  bool served() const override { return whole_; }
  bool paused_itself() const override {
    const NetStats stats = client_.stats();
    return stats.memory_pauses + stats.memory_closes > 0;
  }
  std::string complaint() const override {
    return fmt::format("an echo returned {} of {} bytes, of which {} were sent, and ended with {} ({})", follower_.at(),
                       total_, said_, to_string(reason_), half_closes_ ? "half-closed" : "open");
  }

 private:
  static ClientOptions options() {
    ClientOptions options;
    options.connection.min_write_bytes = 0;
    return options;
  }
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      handle_ = connection.handle();
      speak(connection);
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      world_.check(follower_.follows(input.view()), "an echo returned a wrong byte");
      world_.check(follower_.visitor() == number_, "an echo returned the bytes of another client");
      input.clear();
      world_.check(follower_.at() <= said_, "an echo returned more than was sent");
      if (follower_.at() < total_) return;
      whole_ = true;
      if (!half_closes_) connection.close();
    };
    callbacks.on_close = [this](Connection&, CloseReason reason) {
      over_ = true;
      reason_ = reason;
      // `short_end` is true if the server has sent back some bytes, but not all, and has then closed the connection
      // with FIN. No fault of the simulated network can cause a short end. A server with a limit on connections can:
      // when the server is full, it closes the connection that was idle for longest. If a server has a limit (may_cap),
      // a short end is therefore no failure here.
      const bool short_end = reason == CloseReason::kPeerClosed && !whole_ && follower_.at() > 0;
      if (short_end && !world_.may_cap) world_.check(false, complaint());
    };
    return callbacks;
  }
  void speak(Connection& connection) {
    if (!connection.can_send()) return;
    if (connection.queued_bytes() <= kSoakClientQueueBytes) {
      std::string chunk;
      for (size_t left = std::min(total_ - said_, 1 + world_.pick(6'000)); left > 0; --left) {
        chunk += byte_of(number_, said_++);
      }
      connection.send(chunk);
    }
    if (said_ == total_) {
      if (half_closes_) connection.shutdown_send();
      return;
    }
    soon([this] { handle_.run([this](Connection& later) { speak(later); }); });
  }
  void give_up() override { handle_.abort(); }

  const uint8_t number_;
  const size_t total_;
  const bool half_closes_;
  size_t said_ = 0;
  Follower follower_;
  ConnectionHandle handle_;
  CloseReason reason_{};
  bool whole_ = false;
  bool over_ = false;
  Client client_;
};

}  // namespace peal::test
