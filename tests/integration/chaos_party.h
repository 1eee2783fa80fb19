// SPDX-License-Identifier: BSD-3-Clause
// One end of a connection in chaos_test.cc that lives in callbacks: in each of them, and in timers, it does whatever is
// legal, by chance, and checks what a connection promises.
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

// A server or a client of the play; outlives the Server or Client itself.
struct ChaosOwner {
  ChaosWorld& world;
  bool is_server;
  bool gone = false;                    // the Server or Client was destroyed
  bool stopped = false;                 // the client is
  bool drained = false;                 // the server is, or will be
  uint64_t opened = 0, closed = 0;      // callbacks that came
  std::vector<ConnectionHandle> known;  // some connections of the past and the present
  // Destroys or drains the server, stops or destroys the client: whatever is the owner's to do. Answers whether it is
  // gone.
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
    world_.check(record_.reason.has_value() || owner_->gone || world_.over, record_, "died without on_close");
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
      owner->world.check(!owner->gone, "on_open after its owner's end");
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
  // Something of this end, at some time; true: the connection is not to be touched any more.
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
    world_.check(!owner_->gone, record_, "a callback after its owner's end");
    world_.check(!record_.reason, record_, "a callback after on_close");
    world_.check(connection.is_open(), record_, "a callback while it ends");
    world_.check(!record_.closes || record_.drained, record_, "a callback after close()");
  }
  void message(Connection& connection, Buffer& input) {
    told(connection);
    record_.show_owed = false;
    world_.check(!input.empty(), record_, "a message of no bytes");
    world_.check(!record_.paused, record_, "a message while paused");
    world_.check(!record_.relayed, record_, "a message while piped");
    const bool all = world_.pick(5) != 0 || acts_left_ <= 0;
    const size_t size = all ? input.size() : world_.pick(input.size() + 1);
    ear_.hear(input.view(size));
    world_.check(!record_.fin_came || ear_.heard() <= heard_at_fin_, record_, "bytes after the peer's end");
    if (world_.one_in(8)) {
      const Buffer taken = input.take(size);
    } else {
      input.consume(size);
    }
    record_.keeps_input = !input.empty();
    if (follow_turn(connection)) return;
    if (world_.one_in(3)) act(connection);
  }
  // Goes over to the layer where the peer has, exactly there.
  bool follow_turn(Connection& connection) {
    const ChaosRecord* peer = record_.peer;
    if (world_.layer != ChaosLayer::kLater || record_.layer_at || peer == nullptr) return false;
    if (peer->layer_at != ear_.heard()) return false;
    start_layer(connection);
    return true;
  }
  void writable(Connection& connection) {
    told(connection);
    world_.check(record_.waits_for_writable || wants_drained_, record_, "on_writable that nobody waited for");
    world_.check(!record_.relayed, record_, "on_writable while piped");
    // One call may answer both.
    if (!std::exchange(record_.waits_for_writable, false)) wants_drained_ = false;
    if (connection.queued_bytes() == 0) record_.drain_owed = false;
    if (world_.one_in(2)) act(connection);
  }
  void peer_end(Connection& connection) {
    told(connection);
    world_.check(!record_.fin_came, record_, "the peer's end came twice");
    record_.fin_came = true;
    heard_at_fin_ = connection.received_bytes();
    if (acts_left_ > 0 && !world_.one_in(3)) return static_cast<void>(act(connection));
    close(connection);
  }
  void drain(Connection& connection) {
    told(connection);
    if (!world_.one_in(4)) close(connection);
  }
  void secured(Connection& connection) {
    told(connection);
    world_.check(world_.layer == ChaosLayer::kLater && record_.layer_at && !record_.secured, record_,
                 "on_secured that nobody asked for");
    record_.secured = true;
    record_.is_mute = false;
    act_later(connection);
  }
  void close(Connection& connection, CloseReason reason) {
    world_.check(!owner_->gone, record_, "on_close after its owner's end");
    world_.check(!record_.reason, record_, "on_close came twice");
    world_.check(!connection.is_open(), record_, "open in on_close");
    world_.check(may_end_so(connection, reason), record_, fmt::format("ends for no reason: {}", to_string(reason)));
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
      case CloseReason::kOutputLimit: return connection.sent_bytes() > 100'000 / 4;  // memory counts
      case CloseReason::kEvicted: return record_.is_server;
      case CloseReason::kLoopStopped:
      case CloseReason::kMemoryBudget:
      case CloseReason::kSendRefused: return false;
      default: return true;
    }
  }
  // Its own close().
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
    if (world_.pipes && !record_.relayed && world_.one_in(8)) return meet_another(connection), false;
    const size_t what = world_.pick(tame_ && !world_.one_in(record_.relayed ? 20 : 4) ? 89 : 100);
    if (what < 45) return say_something(connection), false;
    if (what < 54) return pause(connection), false;
    if (what < 66) return resume(connection), false;
    if (what < 70) return report_drained(connection), false;
    if (what < 74) return connection.expect_input(world_.one_in(2)), false;
    if (what < 77) return connection.set_busy(world_.one_in(2)), false;
    if (what < 79) return connection.expect_output(), false;
    if (what < 83) return ask(connection), false;
    if (what < 86) return meet_another(connection), false;
    if (what < 89) return turn(connection), false;
    return end_something(connection);
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
    world_.check(accepted == (could ? size : 0), record_, fmt::format("{} of {} bytes are accepted", accepted, size));
    world_.check(could || !more, record_, "send() is true where nothing can be sent");
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
    if (record_.relayed) return;  // what the pipe still brings would be lost
    record_.send_ended = record_.send_ended || connection.can_send();
    connection.shutdown_send();
  }
  void ask(Connection& connection) {
    static_cast<void>(connection.local_address());
    static_cast<void>(connection.peer_address());
    static_cast<void>(connection.undelivered_bytes());
    static_cast<void>(connection.layer_facts());
    static_cast<void>(
        connection.set_option(SocketOption::kReceiveBuffer, 4'096 + static_cast<int>(world_.pick(9'000))));
  }
  // A pipe with another of the same owner.
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
  // Begins to turn to TLS: a client by itself; the other side follows.
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
    world_.check(starts == could, record_, "start_layer() answers wrongly");
    if (!starts) return;
    record_.layer_at = record_.sent;
    record_.paused = record_.fin_came = record_.keeps_input = record_.show_owed = false;
  }
  // Calls one that may be gone, from outside of its callbacks.
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
  bool big_ = false;   // sends much at once
  bool tame_ = false;  // rarely ends anything
  bool wants_drained_ = false;
  uint64_t heard_at_fin_ = 0;
};

}  // namespace peal::test
