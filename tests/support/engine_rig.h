// SPDX-License-Identifier: BSD-3-Clause
// EngineRig: one engine on the test's thread, and sinks that write down what it reports.
//
// The sinks hold every engine to the rules of engine.h in every test: completions come only from wait() and shut(),
// never inside a call down; nothing but the last completion follows close(); the last one comes exactly once; bytes
// come only while they are wanted and never after the end. The rig owns its sinks and, when it dies, shuts the engine
// and checks that each of them got its last completion.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <tests/support/tested_engines.h>

namespace peal {

class EngineRig;

// So little that a transfer takes many turns.
inline constexpr SocketOptions kTightBuffers{.send_buffer_bytes = 32 * 1024, .receive_buffer_bytes = 32 * 1024};

// What a sink of any kind knows of its own life.
class EngineLog {
 public:
  EngineLog(EngineRig& rig, std::string name) : rig_(rig), name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  // The engine knows it, and its last completion has not come.
  bool open() const { return given_ && !finished_; }
  bool finished() const { return finished_; }

 protected:
  ~EngineLog() = default;
  // Checks and notes a completion.
  void happened(const std::string& what, bool may_follow_goodbye = false);
  void last_happened(const std::string& what);

  EngineRig& rig_;
  bool given_ = false;
  bool closed_here_ = false;  // close(), stop() or unwatch() was called
  bool finished_ = false;

 private:
  std::string name_;
};

class StreamLog final : public StreamEvents, public EngineLog {
 public:
  using EngineLog::EngineLog;

  // Calls down, noted.
  void receive(bool on = true);
  size_t send(std::string_view bytes);
  size_t send_blocks(Buffer bytes);
  void report_sent();
  size_t queued() const;
  void shutdown_send();
  void close(CloseHow how = CloseHow::kNormal);
  void detach();

  // What was reported.
  StreamId id;
  bool connected = false;
  std::error_code connect_error;
  std::string received;
  size_t receive_count = 0;
  size_t last_held_bytes = 0;  // Buffer::held_bytes() of the last that was received
  bool ended = false;
  std::error_code end_error;
  int send_failures = 0;
  std::error_code send_error;
  std::vector<size_t> sent_reports;
  bool closed = false;
  std::optional<LooseStream> loose;

  // Run inside the completion, after it was noted.
  std::function<void()> when_connected, when_received, when_ended, when_send_failed, when_sent, when_closed;

 private:
  friend class EngineRig;
  void on_connected(std::error_code error) override;
  void on_received(Buffer& bytes) override;
  void on_receive_end(std::error_code error) override;
  void on_send_failed(std::error_code error) override;
  void on_sent(size_t left_bytes) override;
  void on_closed() override;
  void on_detached(LooseStream stream) override;

  bool receiving_ = false;
  bool connecting_ = false;
  bool detaching_ = false;
};

class AcceptLog final : public AcceptEvents, public EngineLog {
 public:
  using EngineLog::EngineLog;
  void stop();

  ListenerId id;
  SocketAddress address;  // as bound, with its port
  std::deque<LooseStream> accepted;
  size_t accept_count = 0;
  bool stopped = false;
  std::function<void()> when_accepted, when_stopped;

 private:
  friend class EngineRig;
  void on_accepted(LooseStream stream) override;
  void on_accept_stopped() override;
};

class WatchLog final : public WatchEvents, public EngineLog {
 public:
  using EngineLog::EngineLog;
  void unwatch();

  WatchId id;
  int readable_count = 0;
  int writable_count = 0;
  bool unwatched = false;
  std::function<void()> when_ready, when_unwatched;

 private:
  friend class EngineRig;
  void on_ready(bool readable, bool writable) override;
  void on_unwatched() override;
};

class EngineRig {
 public:
  struct Pair {
    StreamLog& client;
    StreamLog& server;
  };

  // Makes and opens the engine, which must be able to run here.
  explicit EngineRig(const std::string& engine_name);
  explicit EngineRig(std::unique_ptr<Engine> engine);
  ~EngineRig();

  Engine& engine() { return *engine_; }
  const EngineStats& stats() { return engine_->stats(); }

  // Binds and accepts. Unless told otherwise the address is 127.0.0.1 with a free port.
  AcceptLog& listen(const SocketAddress& address, const ListenOptions& options = {});
  AcceptLog& listen() { return listen(loopback()); }
  // The same on a socket that listens already.
  AcceptLog& adopt_listener(Fd listening, const AdoptOptions& options = {});
  StreamLog& connect(const SocketAddress& address, const std::string& name = "client",
                     const ConnectOptions& options = {});
  StreamLog& adopt(LooseStream stream, const std::string& name = "server");
  WatchLog& watch(int fd, bool readable, bool writable);
  // Two streams of this engine, connected with each other; neither receives yet.
  Pair pair(const SocketOptions& client = {}, const SocketOptions& server = {});

  // Pumps the engine until `done`, which nothing but its completions may change.
  testing::AssertionResult run_until(const std::function<bool()>& done);
  // The same where `done` also does something beside the engine, and so must be asked now and then.
  testing::AssertionResult run_beside(const std::function<bool()>& done);
  // Stops accepting, and pumps until that is over.
  testing::AssertionResult stops(AcceptLog& acceptor);
  // Pumps the engine until it has nothing left to report.
  void settle();
  // One wait(), in which completions are legal.
  size_t wait(TimePoint deadline);
  void shut();

  static SocketAddress loopback();
  // What was called and reported, the last of it.
  std::string story() const;
  void note(std::string line);

 private:
  friend class EngineLog;
  friend class StreamLog;
  friend class AcceptLog;
  friend class WatchLog;
  // A call down: nothing may be reported while it lasts.
  template <class Call>
  auto down(const std::string& line, Call call) {
    note(line);
    struct Depth {
      explicit Depth(int& value) : value_(value) { ++value_; }
      ~Depth() { --value_; }
      int& value_;
    } depth(calls_down_);
    return call();
  }
  void open();
  testing::AssertionResult pump(const std::function<bool()>& done, Duration slice);
  AcceptLog& begin_accept(const Result<ListenerId>& id, const std::string& what);

  std::unique_ptr<Engine> engine_;
  std::deque<StreamLog> streams_;
  std::deque<AcceptLog> acceptors_;
  std::deque<WatchLog> watches_;
  std::deque<std::string> story_;
  bool dispatching_ = false;
  int calls_down_ = 0;
  bool shut_ = false;
};

// A fixture that runs its tests on one engine and checks that they leave neither fds nor blocks behind.
class EngineTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;
  EngineRig& rig() { return *rig_; }
  // The test may end its rig before its own end.
  std::unique_ptr<EngineRig> rig_;

 private:
  size_t fds_before_ = 0;
  uint64_t blocks_before_ = 0;
};

// The engines by name, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> every_engine();
// Those whose streams are sockets of the kernel's: tests that play the other side with a socket of their own, count
// fds or watch one cannot run on an engine that keeps its sockets in memory.
std::vector<std::string> engines_with_fds();
// The same below a layer (sealed_port.h).
std::vector<std::string> sealed(const std::vector<std::string>& engine_names);
// The same over TLS (tls_layers.h).
std::vector<std::string> over_tls(const std::vector<std::string>& engine_names);
std::string engine_label(const testing::TestParamInfo<std::string>& info);
// A suite on all of every_engine(): bare, sealed and over TLS.
#define PEAL_SUITE_ON_EVERY_LAYER(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::ValuesIn(every_engine()), engine_label);        \
  INSTANTIATE_TEST_SUITE_P(Sealed, Suite, testing::ValuesIn(sealed(every_engine())), engine_label); \
  INSTANTIATE_TEST_SUITE_P(Tls, Suite, testing::ValuesIn(over_tls(every_engine())), engine_label)

// Bytes without a period short enough to hide a block that is lost, doubled or out of place.
std::string pattern(size_t size);
// Equal, without printing megabytes when not.
testing::AssertionResult same_bytes(const std::string& got, const std::string& wanted);
SocketAddress address_of(std::string_view text);
bool has_ipv6_loopback();
size_t count_open_fds();
// What each of them is, for a test that fails.
std::string open_fds();

namespace test {

// What a call failed with; nothing when it did not.
template <class Value>
std::error_code error_of(const Result<Value>& result) {
  return result ? std::error_code{} : result.error();
}

}  // namespace test
}  // namespace peal
