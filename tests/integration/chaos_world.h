// SPDX-License-Identifier: BSD-3-Clause
// ChaosWorld: everything that one seed of chaos_test.cc needs. It has the loops, the random numbers, and the bytes that
// each end of a connection sends, so that every received byte can be checked. It uses two loops in a simulated network,
// or one loop on an engine of the kernel. All of it is used on the test's thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/base/fd.h>
#include <peal/coro/stream.h>
#include <peal/net/connection.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_world.h>
#include <tests/support/sim_faults.h>
#include <tests/support/tested_engines.h>
#include <tests/support/tls/sim_layers.h>

namespace peal::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A pattern of kPeriod random bytes. Each end of a connection first sends its id of 4 bytes, and then this pattern
// again and again. Each end begins at another position of the pattern, which place_of() returns, so that the test
// notices bytes of a wrong end. text() contains the pattern twice, so that up to kPeriod bytes from any position in the
// pattern are contiguous. file() is a file with the bytes of text(), for send_file().
class ChaosBytes {
 public:
  static constexpr size_t kPeriod = 65'521;  // a prime

  static const ChaosBytes& get() {
    static const ChaosBytes bytes;
    return bytes;
  }
  const std::string& text() const { return *text_; }
  const std::shared_ptr<const Fd>& file() const { return file_; }
  static size_t place_of(uint32_t id, uint64_t at) { return (at + uint64_t{id} * 7'919) % kPeriod; }

 private:
  ChaosBytes() {
    std::mt19937_64 random(1);
    std::string once;
    while (once.size() < kPeriod) once += static_cast<char>(random());
    text_ = std::make_shared<const std::string>(once + once);
    auto made = std::make_shared<Fd>(::memfd_create("chaos", MFD_CLOEXEC));
    const ssize_t written = ::write(made->get(), text_->data(), text_->size());
    PEAL_ASSERT(written == static_cast<ssize_t>(text_->size()), "a file of {} bytes cannot be written", text_->size());
    file_ = std::move(made);
  }

  SharedBytes text_;
  std::shared_ptr<const Fd> file_;
};

// The test's record of one end of a connection: what this end has sent and done so far. The ChaosWorld owns the record
// and keeps it after the connection has ended.
struct ChaosRecord {
  static constexpr uint64_t kHeadBytes = 4;  // a stream begins with its sender's id

  uint32_t id = 0;
  bool is_server = false;
  bool is_task = false;
  Connection* connection = nullptr;  // null after the connection has ended
  const Stream* stream = nullptr;    // the stream of a task; null after the task has ended
  // Set if pipe() has joined this end's connection with another connection. `source` is the peer of that other
  // connection. The pipe sends the bytes of `source` on, as output of this end. The byte at position `begin` of this
  // end's output is the byte at position `source_at` of the output of `source`.
  struct Segment {
    uint64_t begin = 0;
    const ChaosRecord* source = nullptr;
    uint64_t source_at = 0;
    // True if the connection of `source` used TLS before pipe() was called. The pipe then receives decrypted bytes. If
    // `over_layer` is false, the pipe receives the bytes exactly as `source` sends them to the network. These bytes are
    // encrypted as soon as `source` has started TLS, and the test cannot check encrypted bytes.
    bool over_layer = false;
  };
  std::optional<Segment> relayed;
  const ChaosRecord* peer = nullptr;  // set once the peer's id has arrived
  uint64_t sent = 0;
  std::optional<uint64_t> layer_at;  // the value of `sent` when this end started its layer
  bool secured = false;
  bool is_mute = false;   // sends nothing until TLS is secured
  bool has_more = false;  // sends much more, because its peer is piped
  // The next fields, up to `show_owed`, say what has happened to this end or to its Server or Client. Three of them say
  // which callback must still be called: `waits_for_writable`, `drain_owed` and `show_owed`.
  bool closes = false, aborts = false, threw = false, stopped = false, drained = false, owner_gone = false;
  bool send_ended = false;
  bool fin_came = false;
  bool paused = false;
  bool keeps_input = false;
  bool waits_for_writable = false;
  bool drain_owed = false;  // report_drained() was called, and on_writable is due
  bool show_owed = false;   // resume() was called while input was left unconsumed, so on_message is due
  // True if the test cannot know how many bytes this end sent, or why its connection ended. Only an end that uses
  // coroutines (ChaosTask) can be in this state, for two reasons. If the connection ends during a write, the coroutine
  // can no longer read sent_bytes(). If the coroutines leave the stream before the connection has ended, they never
  // learn the CloseReason.
  bool unsure = false;
  std::optional<CloseReason> reason;
  uint64_t received = 0;  // set when the connection has ended

  Connection* here() const { return stream != nullptr ? stream->connection() : connection; }

  // Returns true if this end sends exactly `bytes` from position `at` of its output on. Encrypted bytes that a pipe
  // passes on count as correct, because the test cannot know them.
  bool has(uint64_t at, std::string_view bytes) const {
    while (!bytes.empty()) {
      if (relayed && at >= relayed->begin) {
        const uint64_t source_at = relayed->source_at + (at - relayed->begin);
        const std::optional<uint64_t>& known_until = relayed->source->layer_at;
        if (!relayed->over_layer && known_until) {
          bytes = bytes.substr(0, *known_until - std::min(*known_until, source_at));
        }
        return relayed->source->has(source_at, bytes);
      }
      size_t size = std::min<uint64_t>(bytes.size(), relayed ? relayed->begin - at : bytes.size());
      size = std::min(size, ChaosBytes::kPeriod);
      if (bytes.substr(0, size) != own(at, size)) return false;
      at += size;
      bytes.remove_prefix(size);
    }
    return true;
  }
  // Returns `size` bytes of this end's own output, from position `at` on. Bytes from a pipe are not own output.
  std::string own(uint64_t at, size_t size) const {
    std::string bytes = ChaosBytes::get().text().substr(ChaosBytes::place_of(id, at), size);
    for (size_t i = 0; i < size && at + i < kHeadBytes; ++i) bytes[i] = static_cast<char>(id >> (8 * (at + i)));
    return bytes;
  }
  std::string text() const {
    return fmt::format("{}{} {}: sent {}, received {}{}{}{}{}{}{}{}{}, {}", is_server ? "server's" : "client's",
                       is_task ? " task" : "", id, sent, here() != nullptr ? here()->received_bytes() : received,
                       relayed ? ", piped" : "", paused ? ", paused" : "", keeps_input ? ", keeps input" : "",
                       send_ended ? ", FIN sent" : "", fin_came ? ", FIN came" : "", layer_at ? ", layer" : "",
                       waits_for_writable || drain_owed ? ", waits to be writable" : "",
                       show_owed ? ", waits for on_message with kept input" : "", reason ? to_string(*reason) : "open");
  }
};

enum class ChaosLayer : uint8_t { kPlain, kTls, kLater };

// Everything that one seed needs: the loops, the random numbers and the records of all connections. The loops run in a
// simulated network or on an engine of the kernel.
struct ChaosWorld {
  ChaosWorld(uint64_t its_seed, ChaosLayer its_layer, std::string_view its_engine)
      : seed(its_seed), layer(its_layer), engine(its_engine), random(its_seed * 4 + static_cast<uint64_t>(its_layer)) {
    if (is_sim()) {
      SimOptions faults = seed % 2 == 0 ? lossless_faults() : SimOptions::hostile();
      if (one_in(2))
        faults.send_buffer_bytes = faults.receive_buffer_bytes = 4'096 + static_cast<uint32_t>(pick(20'000));
      sim.emplace(seed, faults);
      if (layer != ChaosLayer::kPlain) layers = std::make_unique<SimTlsLayers>(seed, &*sim);
      sim_here.emplace(*sim);
      sim_there.emplace(*sim);
    } else {
      layers = std::make_unique<SimTlsLayers>(seed, nullptr);
      real = make_loop({.engine = std::string(engine)}).value();
      const Result<void> begun = real->begin();
      check(begun.has_value(), "the loop cannot begin");
    }
  }
  ~ChaosWorld() { end_loops(); }
  ChaosWorld(const ChaosWorld&) = delete;
  ChaosWorld& operator=(const ChaosWorld&) = delete;

  void end_loops() {
    sim_there.reset();
    sim_here.reset();
    if (real) real->end();
  }
  bool is_sim() const { return engine == "sim"; }
  // Returns the address for Server::listen(). On an engine of the kernel, each process has a loopback address of its
  // own. With a common address, a client could reach the server of another process that runs this test. The reason is
  // that the port of a destroyed server is free, and the kernel may give it to that process.
  std::string address() const {
    const auto pid = static_cast<uint32_t>(::getpid());
    return is_sim() ? "127.0.0.1:0" : fmt::format("127.{}.{}.{}:0", 1 + (pid >> 16), pid >> 8 & 255, pid & 255);
  }
  Loop& here() { return sim ? **sim_here : *real; }
  Loop& there() { return sim ? **sim_there : *real; }
  // Returns the buffer of an open connection that the test makes smaller. A kernel may stop a connection whose receive
  // buffer becomes smaller (docs/guide/streams-and-limits.md, "Which socket options peal sets").
  SocketOption resized_buffer() const { return is_sim() ? SocketOption::kReceiveBuffer : SocketOption::kSendBuffer; }
  size_t pick(size_t bound) { return random() % bound; }
  bool one_in(size_t many) { return pick(many) == 0; }
  // Returns a random time of at most `most_milliseconds`. On an engine of the kernel, the limit is a tenth of
  // `most_milliseconds`, because the loop waits in real time there.
  Duration span(size_t most_milliseconds) {
    return sim ? milliseconds(pick(most_milliseconds)) : milliseconds(pick(1 + most_milliseconds / 10));
  }
  void check(bool good, std::string_view what) {
    if (good || !trouble.empty()) return;
    trouble = fmt::format("{} at {}", what, now().time_since_epoch().count());
    if (sim) sim->fail(trouble);
  }
  void check(bool good, const ChaosRecord& record, std::string_view what) {
    if (!good) check(false, fmt::format("{}: {}", record.text(), what));
  }
  TimePoint now() { return sim ? sim->now() : real->now(); }
  // True if the simulated network has injected none of four faults: a reset, a lost peer, a failed connect or a lack of
  // fds. On an engine of the kernel, the result is always true, because only the simulated network injects faults.
  bool undisturbed() const {
    if (!sim) return true;
    const SimStats& stats = sim->stats();
    return stats.resets + stats.vanished + stats.no_fd + stats.connects_failed == 0;
  }
  bool run_until(const std::function<bool()>& done, Duration limit) {
    if (sim) return sim->run_until([&] { return done() || !trouble.empty(); }, limit) && trouble.empty();
    bool late = false;
    const TimerId timer = real->after(limit, [&] { late = true; });
    const TimerId ticks = real->every(milliseconds(1), [] {});
    while (!done() && !late && trouble.empty()) real->step();
    real->cancel(timer);
    real->cancel(ticks);
    return done() && trouble.empty();
  }
  void run_for(Duration time) {
    if (sim) return sim->run_for(time);
    bool over = false;
    real->after(time, [&] { over = true; });
    while (!over) real->step();
  }
  ChaosRecord& add_record() {
    ChaosRecord& record = records.emplace_back();
    record.id = static_cast<uint32_t>(records.size() - 1);
    return record;
  }

  const uint64_t seed;
  const ChaosLayer layer;
  const std::string engine;
  std::mt19937_64 random;
  std::string trouble;  // the first failed check
  std::deque<ChaosRecord> records;
  uint64_t opened = 0, closed = 0;
  size_t acts_under_way = 0;  // the number of timers that will do something
  bool over = false;          // true when nothing new may begin
  // If true, every connection has timeouts that end the connection sooner or later. If false, the test aborts the
  // connections that are still open at the end of the test.
  const bool by_deadlines = pick(2) == 0;
  const bool pipes = pick(2) == 0;
  const bool violent = pick(2) == 0;  // servers and clients are destroyed, and callbacks throw
  std::optional<SimWorld> sim;
  std::unique_ptr<SimTlsLayers> layers;  // null in a simulated network without TLS
  std::optional<SimLoop> sim_here, sim_there;
  std::unique_ptr<Loop> real;
};

// Receives the input of one end of a connection. Checks that each byte is the byte that the peer sent at the same
// position.
class ChaosEar {
 public:
  ChaosEar(ChaosWorld& world, ChaosRecord& record) : world_(world), record_(record) {}
  uint64_t heard() const { return heard_; }
  void hear(std::string_view bytes) {
    const ChaosRecord* peer = record_.peer;
    for (; peer == nullptr && !bytes.empty(); bytes.remove_prefix(1)) {
      head_ |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[0])) << (8 * heard_++);
      if (heard_ < ChaosRecord::kHeadBytes) continue;
      if (head_ >= world_.records.size())
        return world_.check(false, record_, "received bytes that begin with an unknown id");
      record_.peer = peer = &world_.records[head_];
      bytes.remove_prefix(1);
      break;
    }
    if (bytes.empty() || lost_) return;
    // If the peer has started TLS and this end has not, the bytes of the TLS handshake arrive here as input. The test
    // cannot know them, and everything that the peer sends afterwards is encrypted, too. Therefore no byte from
    // position `layer_at` on is checked.
    if (peer->layer_at && !record_.layer_at && heard_ + bytes.size() > *peer->layer_at) {
      bytes = bytes.substr(0, *peer->layer_at - std::min(heard_, *peer->layer_at));
      lost_ = true;
    }
    world_.check(peer->has(heard_, bytes), record_,
                 fmt::format("a wrong byte among the {} bytes at position {}", bytes.size(), heard_));
    heard_ += bytes.size();
    world_.check(heard_ <= peer->sent || peer->relayed || peer->owner_gone, record_, "received more than was sent");
  }
  bool lost() const { return lost_; }

 private:
  ChaosWorld& world_;
  ChaosRecord& record_;
  uint32_t head_ = 0;
  uint64_t heard_ = 0;
  bool lost_ = false;
};

}  // namespace peal::test
