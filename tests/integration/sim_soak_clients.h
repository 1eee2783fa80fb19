// SPDX-License-Identifier: BSD-3-Clause
// Who visits the servers of sim_soak_test.cc: the worst clients, and well-behaved ones who must be served beside them.
// The test's thread.
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

// A request of HTTP as a client writes it.
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

// One of the worst: it goes on until the server cuts it off, or until it has had enough.
class WorstClient {
 public:
  enum class Kind : uint8_t {
    kReadsSlowly,
    kNeverReads,  // and pipelines
    kResets,      // in whatever state it is
    kHalfCloses,  // in the midst of a message, too
    kStalls,      // in the midst of a message
    kFloods,
    kDrips,  // a byte at a time
    kSpeaksGarbage,
  };
  static constexpr size_t kKinds = 8;

  WorstClient(SoakServers& servers, SoakProtocol protocol)
      : world_(servers.world),
        protocol_(protocol),
        kind_(static_cast<Kind>(world_.pick(kKinds))),
        loop_(*world_.there),
        client_(loop_, callbacks(), options(), [this](std::error_code, Duration) { over_ = true; }) {
    world_.check(client_.connect(soak_address(servers, protocol)).has_value(), "a worst client cannot even begin");
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
      if (world_.pick(2) == 0) connection.close();  // the others only when they have had enough
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
    if (resets) return void(handle_.abort());
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
  std::string pending_;  // of the message that is being sent
  TimerId act_, end_;
  size_t acts_ = 0;
  bool rests_ = false;
  bool over_ = false;
  Client client_;
};

// One who reads, writes and waits. Whatever the others do it gets all that it asked for, unless its world is excused.
class GoodClient {
 public:
  explicit GoodClient(SoakWorld& world) : world_(world), loop_(*world.there) {
    // Its patience, for peers that vanish.
    patience_ = loop_.after(std::chrono::minutes(20), [this] { give_up(); });
  }
  virtual ~GoodClient() { loop_.cancel(patience_); }
  GoodClient(const GoodClient&) = delete;
  GoodClient& operator=(const GoodClient&) = delete;
  virtual bool over() const = 0;
  virtual bool served() const = 0;
  // It lives in the servers' process: the budget may have kept it from reading, too.
  virtual bool paused_itself() const { return world_.short_of_memory; }
  // Why it went without, in words.
  virtual std::string complaint() const = 0;

 protected:
  virtual void give_up() = 0;
  // Within ten milliseconds, unless it is gone by then.
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

// Sends a stream and gets it back.
class GoodEcho final : public GoodClient {
 public:
  GoodEcho(SoakServers& servers, SoakProtocol protocol, uint8_t number)
      : GoodClient(servers.world),
        number_(number),
        total_(1 + (world_.pick(3) == 0 ? world_.pick(120'000) : world_.pick(5'000))),
        half_closes_(world_.pick(2) == 0),
        client_(loop_, callbacks(), options(), [this](std::error_code, Duration) { over_ = true; }) {
    world_.check(client_.connect(soak_address(servers, protocol)).has_value(), "a client cannot even begin");
  }
  bool over() const override { return over_; }
  bool served() const override { return whole_; }
  bool paused_itself() const override {
    const NetStats stats = client_.stats();
    return stats.memory_pauses + stats.memory_closes > 0;
  }
  std::string complaint() const override {
    return fmt::format("an echo brought {} of {} bytes, {} said, and ended with {} ({})", follower_.at(), total_, said_,
                       to_string(reason_), half_closes_ ? "half-closed" : "open");
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
      world_.check(follower_.follows(input.view()), "an echo brought a wrong byte");
      world_.check(follower_.visitor() == number_, "an echo brought another's bytes");
      input.clear();
      world_.check(follower_.at() <= said_, "an echo brought more than was sent");
      if (follower_.at() < total_) return;
      whole_ = true;
      if (!half_closes_) connection.close();
    };
    callbacks.on_close = [this](Connection&, CloseReason reason) {
      over_ = true;
      reason_ = reason;
      // In order, and yet not whole: no fault of the network's does that.
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
    if (said_ == total_) return half_closes_ ? connection.shutdown_send() : void();
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
