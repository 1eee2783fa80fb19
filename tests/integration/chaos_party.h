// SPDX-License-Identifier: BSD-3-Clause
// ChaosParty: one end of a connection in chaos_test.cc that uses callbacks. In callbacks and in timers it does random
// things that the API allows. It checks what the API promises about a connection.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/net/connection.h>
#include <peal/net/pipe.h>
#include <tests/integration/chaos_world.h>

namespace peal::test {

// The test's record of one Server or Client. The record still exists after that Server or Client was destroyed.
struct ChaosOwner {
  ChaosWorld& world;
  bool is_server;
  bool gone = false;                    // true after the Server or Client was destroyed
  bool stopped = false;                 // true after the client was stopped
  bool drained = false;                 // true as soon as the server begins to drain
  uint64_t opened = 0, closed = 0;      // calls of on_open and on_close
  std::vector<ConnectionHandle> known;  // handles of some connections, open or closed
  // Performs a random action on the Server or Client itself. A Server is drained or destroyed. A Client is stopped or
  // destroyed. Returns true if the Server or Client was destroyed.
  std::function<bool()> meddle;
};

class ChaosParty {
 public:
  ChaosParty(std::shared_ptr<ChaosOwner> owner, Connection& connection)
      : owner_(std::move(owner)), world_(owner_->world), record_(world_.add_record()), ear_(world_, record_) {
    record_.is_server = owner_->is_server;
    record_.connection = &connection;
    acts_left_ = 2 + static_cast<int>(world_.pick(40));
    big_ = world_.one_in(3);
    tame_ = world_.one_in(2);
  }
  ~ChaosParty() {
    world_.check(record_.reason.has_value() || owner_->gone || world_.over, record_,
                 "the context was destroyed without on_close");
    record_.connection = nullptr;
    if (owner_->gone) record_.owner_gone = true;
  }
  ChaosParty(const ChaosParty&) = delete;
  ChaosParty& operator=(const ChaosParty&) = delete;

  static ConnectionCallbacks callbacks(const std::shared_ptr<ChaosOwner>& owner, bool hears_ends, bool hears_drain) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [owner](Connection& connection) {
      ++owner->opened;
      ++owner->world.opened;
      owner->world.check(!owner->gone, "on_open was called after its owner was destroyed");
      auto& party = connection.emplace_context<ChaosParty>(owner, connection);
      if (owner->known.size() < 64) owner->known.push_back(connection.handle());
      party.begin(connection);
    };
    callbacks.on_message = [](Connection& connection, Buffer& input) { of(connection).message(connection, input); };
    callbacks.on_writable = [](Connection& connection) { of(connection).writable(connection); };
    if (hears_ends) callbacks.on_peer_end = [](Connection& connection) { of(connection).peer_end(connection); };
    if (hears_drain) callbacks.on_drain = [](Connection& connection) { of(connection).drain(connection); };
    callbacks.on_secured = [](Connection& connection) { of(connection).secured(connection); };
    callbacks.on_close = [](Connection& connection, CloseReason reason) { of(connection).close(connection, reason); };
    return callbacks;
  }
  // Performs one random action on the connection. Returns true if this has destroyed the Server or Client, and the
  // connection with it.
  bool act(Connection& connection) {
    if (record_.reason || !connection.is_open() || world_.over) return false;
    if (std::exchange(record_.has_more, false)) {
      acts_left_ += 30;
      big_ = tame_ = true;
    }
    if (acts_left_ <= 0) return false;
    --acts_left_;
    return do_something(connection);
  }

 private:
  static ChaosParty& of(Connection& connection) { return connection.context<ChaosParty>(); }

  void begin(Connection& connection) {
    told(connection);
    say(connection, ChaosRecord::kHeadBytes, 0);
    act_later(connection);
    if (!world_.one_in(3)) act(connection);
  }
  void told(Connection& connection) {
    world_.check(!owner_->gone, record_, "a callback was called after its owner was destroyed");
    world_.check(!record_.reason, record_, "a callback was called after on_close");
    world_.check(connection.is_open(), record_, "a callback was called while the connection was ending");
    world_.check(!record_.closes || record_.drained, record_, "a callback was called after close()");
  }
  void message(Connection& connection, Buffer& input) {
    told(connection);
    record_.show_owed = false;
    world_.check(!input.empty(), record_, "on_message was called without bytes");
    world_.check(!record_.paused, record_, "on_message was called while paused");
    world_.check(!record_.relayed, record_, "on_message was called while piped");
    const bool all = world_.pick(5) != 0 || acts_left_ <= 0;
    const size_t size = all ? input.size() : world_.pick(input.size() + 1);
    ear_.hear(input.view(size));
    world_.check(!record_.fin_came || ear_.heard() <= heard_at_fin_, record_, "bytes arrived after the peer's FIN");
    if (world_.one_in(8)) {
      const Buffer taken = input.take(size);
    } else {
      input.consume(size);
    }
    record_.keeps_input = !input.empty();
    if (follow_turn(connection)) return;
    if (world_.one_in(3)) act(connection);
  }
  // Starts TLS on this end after the peer has started TLS. Does nothing until all bytes that the peer sent before TLS
  // have arrived. Returns true if TLS was started.
  bool follow_turn(Connection& connection) {
    const ChaosRecord* peer = record_.peer;
    if (world_.layer != ChaosLayer::kLater || record_.layer_at || peer == nullptr) return false;
    if (peer->layer_at != ear_.heard()) return false;
    start_layer(connection);
    return true;
  }
  void writable(Connection& connection) {
    told(connection);
    world_.check(record_.waits_for_writable || wants_drained_, record_,
                 "on_writable was called, but nothing waited for it");
    world_.check(!record_.relayed, record_, "on_writable was called while piped");
    // on_writable is called because send() has returned false, or because report_drained() was called. If both have
    // happened, the connection may call on_writable once for both or twice. The first call therefore leaves
    // `wants_drained_` true, so that a second call passes the check above.
    if (!std::exchange(record_.waits_for_writable, false)) wants_drained_ = false;
    if (connection.queued_bytes() == 0) record_.drain_owed = false;
    if (world_.one_in(2)) act(connection);
  }
  void peer_end(Connection& connection) {
    told(connection);
    world_.check(!record_.fin_came, record_, "on_peer_end was called twice");
    record_.fin_came = true;
    heard_at_fin_ = connection.received_bytes();
    if (acts_left_ > 0 && !world_.one_in(3)) {
      act(connection);
    } else {
      close(connection);
    }
  }
  void drain(Connection& connection) {
    told(connection);
    if (!world_.one_in(4)) close(connection);
  }
  void secured(Connection& connection) {
    told(connection);
    world_.check(world_.layer == ChaosLayer::kLater && record_.layer_at && !record_.secured, record_,
                 "on_secured was called, but no layer was started");
    record_.secured = true;
    record_.is_mute = false;
    act_later(connection);
  }
  void close(Connection& connection, CloseReason reason) {
    world_.check(!owner_->gone, record_, "on_close was called after its owner was destroyed");
    world_.check(!record_.reason, record_, "on_close was called twice");
    world_.check(!connection.is_open(), record_, "the connection is open inside on_close");
    world_.check(may_end_so(connection, reason), record_,
                 fmt::format("the reason for the end cannot be right: {}", to_string(reason)));
    record_.reason = reason;
    record_.received = connection.received_bytes();
    record_.connection = nullptr;
    if (!record_.relayed) {
      world_.check(connection.sent_bytes() == record_.sent, record_, "sent_bytes() is wrong");
    }
    record_.sent = connection.sent_bytes();
    ++owner_->closed;
    ++world_.closed;
  }

  bool may_end_so(const Connection& connection, CloseReason reason) const {
    switch (reason) {
      case CloseReason::kLocal:
        return record_.closes || record_.stopped || record_.drained || owner_->stopped || owner_->drained;
      case CloseReason::kAborted: return record_.aborts;
      case CloseReason::kCallbackThrew: return record_.threw;
      case CloseReason::kPipeEnded: return record_.relayed.has_value();
      case CloseReason::kTruncated: return world_.layer != ChaosLayer::kPlain || record_.keeps_input;
      case CloseReason::kFailed: return world_.layer != ChaosLayer::kPlain || !world_.undisturbed();
      case CloseReason::kIdle: return world_.by_deadlines;
      case CloseReason::kDrainDeadline: return record_.drained || owner_->drained;
      case CloseReason::kInputLimit: return connection.received_bytes() > 2'000;
      // The connection's output limit is at least 100,000 bytes (chaos_limits()). The limit counts memory, which is at
      // most four times the size of the output (ConnectionOptions::output_limit_bytes). A connection that exceeds the
      // limit has therefore sent more than 25,000 bytes.
      case CloseReason::kOutputLimit: return connection.sent_bytes() > 100'000 / 4;
      case CloseReason::kEvicted: return record_.is_server;
      case CloseReason::kLoopStopped:
      case CloseReason::kMemoryBudget:
      case CloseReason::kSendRefused: return false;
      default: return true;
    }
  }
  // Calls connection.close(). Records that this end has closed the connection itself.
  void close(Connection& connection) {
    record_.closes = true;
    connection.close();
  }
  void act_later(Connection& connection) {
    if (acts_left_ <= 0) return;
    ++world_.acts_under_way;
    connection.loop().after(world_.span(world_.one_in(8) ? 400 : 12), [&world = world_, handle = connection.handle()] {
      --world.acts_under_way;
      handle.run([](Connection& later) {
        if (!of(later).act(later) && later.is_open()) of(later).act_later(later);
      });
    });
  }

  bool do_something(Connection& connection) {
    if (world_.pipes && !record_.relayed && world_.one_in(8)) {
      meet_another(connection);
      return false;
    }
    const size_t what = world_.pick(tame_ && !world_.one_in(record_.relayed ? 20 : 4) ? 89 : 100);
    if (what >= 89) return end_something(connection);
    do_without_ending(connection, what);
    return false;
  }
  // Performs the action that the number `what` (0 to 88) selects. None of these actions is meant to end the connection.
  void do_without_ending(Connection& connection, size_t what) {
    if (what < 45) return say_something(connection);
    if (what < 54) return pause(connection);
    if (what < 66) return resume(connection);
    if (what < 70) return report_drained(connection);
    if (what < 74) return connection.expect_input(world_.one_in(2));
    if (what < 77) return connection.set_busy(world_.one_in(2));
    if (what < 79) return connection.expect_output();
    if (what < 83) return ask(connection);
    if (what < 86) return meet_another(connection);
    turn(connection);
  }
  bool end_something(Connection& connection) {
    switch (world_.pick(12)) {
      case 0:
      case 1:
      case 2: shutdown_send(connection); return false;
      case 3:
      case 4: close(connection); return false;
      case 5:
        record_.closes = true;
        connection.close_when_sent();
        return false;
      case 6:
        record_.aborts = true;
        connection.abort();
        return false;
      case 7:
        if (!world_.violent) return false;
        record_.threw = true;
        throw 0;
      case 8:
      case 9: return world_.violent && owner_->meddle();
      default: return use_a_handle(connection);
    }
  }
  void say_something(Connection& connection) {
    const int times = world_.one_in(4) ? 1 + static_cast<int>(world_.pick(4)) : 1;
    for (int i = 0; i < times && connection.is_open(); ++i) {
      const size_t most = big_ ? 60'000 : 3'000;
      say(connection, 1 + world_.pick(world_.one_in(3) ? most : 300), world_.pick(4));
    }
  }
  void say(Connection& connection, size_t size, size_t how) {
    if (record_.relayed || record_.is_mute) return;
    const std::string bytes = record_.own(record_.sent, size);
    const bool could = connection.can_send();
    const uint64_t before = connection.sent_bytes();
    bool more = false;
    if (record_.sent < ChaosRecord::kHeadBytes && how == 2) how = 0;
    if (how == 0) more = connection.send(bytes);
    if (how == 1) more = connection.send(Buffer(bytes));
    if (how == 2) {
      connection.send_file(
          {.file = ChaosBytes::get().file(), .offset = ChaosBytes::place_of(record_.id, record_.sent), .bytes = size});
      more = connection.send(std::string_view());
    }
    if (how == 3) more = connection.send(std::make_shared<const std::string>(bytes));
    const uint64_t accepted = connection.sent_bytes() - before;
    world_.check(accepted == (could ? size : 0), record_,
                 fmt::format("send() accepted {} of {} bytes", accepted, size));
    world_.check(could || !more, record_, "send() returned true although can_send() was false");
    record_.sent += accepted;
    if (could && !more && connection.is_open()) record_.waits_for_writable = true;
  }
  void pause(Connection& connection) {
    connection.pause();
    record_.paused = connection.is_open();
    record_.show_owed = false;
  }
  void resume(Connection& connection) {
    connection.resume();
    record_.show_owed = record_.show_owed || (record_.paused && record_.keeps_input && connection.is_open());
    record_.paused = false;
  }
  void report_drained(Connection& connection) {
    connection.report_drained();
    wants_drained_ = record_.drain_owed = true;
  }
  void shutdown_send(Connection& connection) {
    if (record_.relayed) return;  // a FIN now would lose bytes that still arrive through the pipe
    record_.send_ended = record_.send_ended || connection.can_send();
    connection.shutdown_send();
  }
  void ask(Connection& connection) {
    static_cast<void>(connection.local_address());
    static_cast<void>(connection.peer_address());
    static_cast<void>(connection.undelivered_bytes());
    static_cast<void>(connection.layer_facts());
    static_cast<void>(connection.set_option(world_.resized_buffer(), 4'096 + static_cast<int>(world_.pick(9'000))));
  }
  // Picks a random connection of the same server, and joins it with this connection by pipe(). Does nothing if one of
  // the two cannot be piped.
  void meet_another(Connection& connection) {
    if (!world_.pipes || !owner_->is_server || owner_->known.empty()) return;
    const ConnectionHandle& other = owner_->known[world_.pick(owner_->known.size())];
    other.run([&](Connection& its) {
      if (&its == &connection || !its.is_open() || !connection.is_open()) return;
      ChaosParty& theirs = of(its);
      if (!may_be_piped(connection) || !theirs.may_be_piped(its)) return;
      const ChaosRecord::Segment here{connection.sent_bytes(), theirs.record_.peer, theirs.ear_.heard(),
                                      world_.layer == ChaosLayer::kTls || theirs.record_.secured};
      const ChaosRecord::Segment there{its.sent_bytes(), record_.peer, ear_.heard(),
                                       world_.layer == ChaosLayer::kTls || record_.secured};
      record_.relayed = here;
      theirs.record_.relayed = there;
      const PipeOptions options{.splice = world_.one_in(2)};
      if (pipe(connection, its, options)) {
        record_.paused = theirs.record_.paused = false;
        record_.waits_for_writable = theirs.record_.waits_for_writable = false;
        tame_ = theirs.tame_ = !world_.one_in(4);
        for (const ChaosRecord* far : {record_.peer, theirs.record_.peer}) world_.records[far->id].has_more = true;
        return;
      }
      record_.relayed.reset();
      theirs.record_.relayed.reset();
    });
  }
  bool may_be_piped(const Connection& connection) const {
    return !record_.relayed && record_.peer != nullptr && !ear_.lost() && !record_.send_ended &&
           connection.can_send() && !record_.layer_at == !record_.secured;
  }
  // Starts TLS in the middle of the connection. Does nothing if one of these is true:
  // - The test does not have ChaosLayer::kLater.
  // - This end is piped, has started TLS before, or has not sent its id yet.
  // - This end is a client's, or has not received all bytes that its client has sent. One of six calls starts TLS
  //   nevertheless.
  //
  // In the other five calls, the client sends no data until its TLS handshake has ended. Otherwise plain bytes of the
  // client would reach the server's TLS layer. A peer that uses callbacks starts TLS in follow_turn(), when all bytes
  // that this end sent before TLS have arrived there.
  void turn(Connection& connection) {
    if (world_.layer != ChaosLayer::kLater || record_.relayed || record_.sent < ChaosRecord::kHeadBytes) return;
    if (record_.layer_at) return;
    if (!world_.one_in(6)) {
      ChaosRecord* peer = record_.is_server && record_.peer != nullptr ? &world_.records[record_.peer->id] : nullptr;
      if (peer == nullptr || peer->sent != ear_.heard()) return;
      peer->is_mute = connection.can_send();
    }
    if (connection.can_send()) say(connection, 1 + world_.pick(50), 0);
    if (connection.is_open()) start_layer(connection);
  }
  void start_layer(Connection& connection) {
    const bool could = connection.can_send();
    const bool starts = connection.start_layer();
    world_.check(starts == could, record_, "start_layer() returned the wrong value");
    if (!starts) return;
    record_.layer_at = record_.sent;
    record_.paused = record_.fin_came = record_.keeps_input = record_.show_owed = false;
  }
  // Picks a random connection of the same Server or Client and performs a random action on it. Does nothing if the
  // picked connection is closed, or is `connection` itself. Returns true if the Server or Client was destroyed.
  bool use_a_handle(Connection& connection) {
    if (owner_->known.empty()) return false;
    const ConnectionHandle handle = owner_->known[world_.pick(owner_->known.size())];
    if (handle == connection.handle()) return false;
    const std::shared_ptr<ChaosOwner> owner = owner_;
    handle.run([](Connection& other) { of(other).act(other); });
    return owner->gone;
  }

  const std::shared_ptr<ChaosOwner> owner_;
  ChaosWorld& world_;
  ChaosRecord& record_;
  ChaosEar ear_;
  int acts_left_ = 0;
  bool big_ = false;   // sends large pieces
  bool tame_ = false;  // rarely does something that ends the connection
  bool wants_drained_ = false;
  uint64_t heard_at_fin_ = 0;
};

}  // namespace peal::test
