// SPDX-License-Identifier: BSD-3-Clause
// EngineRig: one engine on the test's thread, and objects (sinks) that record what the engine reports.
//
// The sinks check the rules of engine.h in every test, for every engine:
// - The engine reports only inside wait() and shut(), never inside another call.
// - After close(), only the last report (on_closed() or the like) follows, and it comes exactly once.
// - Bytes are delivered only while receiving is on, and never after the end of the stream.
//
// The rig owns its sinks. Its destructor shuts the engine down and checks that each sink got its last report.
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

// Options for small socket buffers. With them, a large transfer needs many calls of wait().
inline constexpr SocketOptions kTightBuffers{.send_buffer_bytes = 32 * 1024, .receive_buffer_bytes = 32 * 1024};

// The base class of the objects that record what the engine reports about one stream, one listener or one watch. Each
// object has a name.
class EngineLog {
 public:
  EngineLog(EngineRig& rig, std::string name) : rig_(rig), name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  // True from the call that gives this object to the engine until the engine's last report to it.
  bool open() const { return given_ && !finished_; }
  bool finished() const { return finished_; }

 protected:
  ~EngineLog() = default;
  // Records the report `what`, and checks that the rules of engine.h allow the report now. After close(), stop() or
  // unwatch(), a report fails the test unless `may_follow_goodbye` is true. That parameter is true for the last report,
  // and for accepted connections, because the engine may still report both.
  void happened(const std::string& what, bool may_follow_goodbye = false);
  void last_happened(const std::string& what);

  EngineRig& rig_;
  bool given_ = false;
  bool closed_here_ = false;  // true after close(), stop() or unwatch()
  bool finished_ = false;

 private:
  std::string name_;
};

class StreamLog final : public StreamEvents, public EngineLog {
 public:
  using EngineLog::EngineLog;

  // Each of these functions calls the engine for this stream. All except queued() also record the call.
  void receive(bool on = true);
  size_t send(std::string_view bytes);
  size_t send_blocks(Buffer bytes);
  void report_sent();
  size_t queued() const;
  void shutdown_send();
  void close(CloseHow how = CloseHow::kNormal);
  void detach();

  // The members below store what the engine has reported.
  StreamId id;
  bool connected = false;
  std::error_code connect_error;
  std::string received;
  size_t receive_count = 0;
  // The memory that the most recently received bytes occupied, as Buffer::held_bytes() counts it.
  size_t last_held_bytes = 0;
  bool ended = false;
  std::error_code end_error;
  int send_failures = 0;
  std::error_code send_error;
  std::vector<size_t> sent_reports;
  bool closed = false;
  std::optional<LooseStream> loose;

  // Functions that the test may set. StreamLog calls them inside the engine's reports, after it has recorded the
  // report. For example, it calls when_closed inside on_closed().
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
  SocketAddress address;  // the bound address, with its port
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

  // Makes and opens the engine `engine_name`. This machine must support the engine.
  explicit EngineRig(const std::string& engine_name);
  explicit EngineRig(std::unique_ptr<Engine> engine);
  ~EngineRig();

  Engine& engine() { return *engine_; }
  const EngineStats& stats() { return engine_->stats(); }

  // Makes a listener at `address` and accepts connections. The default address is a free port of 127.0.0.1.
  AcceptLog& listen(const SocketAddress& address, const ListenOptions& options = {});
  AcceptLog& listen() { return listen(loopback()); }
  // Accepts connections on a socket that is already listening.
  AcceptLog& adopt_listener(Fd listening, const AdoptOptions& options = {});
  StreamLog& connect(const SocketAddress& address, const std::string& name = "client",
                     const ConnectOptions& options = {});
  StreamLog& adopt(LooseStream stream, const std::string& name = "server");
  WatchLog& watch(int fd, bool readable, bool writable);
  // Makes two streams of this engine that are connected with each other. Receiving is off on both.
  Pair pair(const SocketOptions& client = {}, const SocketOptions& server = {});

  // Runs the engine until `done` returns true. Fails after 60 s of the engine's clock. Between two calls of `done`, the
  // engine waits until an event comes. The result of `done` must therefore depend only on the engine's reports.
  testing::AssertionResult run_until(const std::function<bool()>& done);
  // Runs the engine until `done` returns true. `done` is called at least every millisecond. Use this function if the
  // result of `done` depends on something outside the engine, such as a raw socket.
  testing::AssertionResult run_beside(const std::function<bool()>& done);
  // Stops `acceptor`, and runs the engine until the engine has reported that it accepts no more connections.
  testing::AssertionResult stops(AcceptLog& acceptor);
  // Runs the engine until no event has come for 3 ms of the engine's clock. Fails if the engine still handles events
  // after 10,000 calls of wait().
  void settle();
  // Calls the engine's wait() once and returns how many events it has handled. The engine may report events during this
  // call.
  size_t wait(TimePoint deadline);
  void shut();

  static SocketAddress loopback();
  // Returns the last calls to the engine and the engine's last reports, as text. Messages of failed checks include this
  // text.
  std::string story() const;
  void note(std::string line);

 private:
  friend class EngineLog;
  friend class StreamLog;
  friend class AcceptLog;
  friend class WatchLog;
  // Calls a function of the engine, which `line` describes. If the engine reports anything during this call, the test
  // fails.
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

// A fixture that runs its tests on one engine. After each test, TearDown() checks that no fd of the test is still open.
// It also checks that all memory blocks have returned to the thread's BlockPool.
class EngineTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;
  EngineRig& rig() { return *rig_; }
  // The test's rig. A test may destroy it early.
  std::unique_ptr<EngineRig> rig_;

 private:
  size_t fds_before_ = 0;
  uint64_t blocks_before_ = 0;
};

// Returns the names of all engines, including the simulator, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> every_engine();
// Returns the names of all engines except the simulator, whose sockets are in memory. A test needs these engines if its
// peer is a plain socket, or if it counts or watches fds.
std::vector<std::string> engines_with_fds();
// Returns the names with the prefix "sealed_". For example, "sealed_epoll" is epoll with the sealing layer above it.
// The sealing layer is a simple layer that tests use instead of TLS (sealed_port.h). The result lacks poll and select,
// unless PEAL_ALL_ENGINES is set in the environment (tested_engines.h).
std::vector<std::string> sealed(const std::vector<std::string>& engine_names);
// Returns the names with the prefix "tls_". For example, "tls_epoll" is epoll with a TLS layer above it (tls_layers.h).
// The result lacks the same engines as that of sealed().
std::vector<std::string> over_tls(const std::vector<std::string>& engine_names);
std::string engine_label(const testing::TestParamInfo<std::string>& info);
// Runs a suite on each engine in three ways: with plain streams, through the sealing layer (sealed_port.h) and over
// TLS. On poll and select, the suite runs only with plain streams, unless PEAL_ALL_ENGINES is set. The file
// sealed_exclusions.cc lists the tests that run without one or both of the layers.
#define PEAL_SUITE_ON_EVERY_LAYER(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::ValuesIn(every_engine()), engine_label);        \
  INSTANTIATE_TEST_SUITE_P(Sealed, Suite, testing::ValuesIn(sealed(every_engine())), engine_label); \
  INSTANTIATE_TEST_SUITE_P(Tls, Suite, testing::ValuesIn(over_tls(every_engine())), engine_label)

// Returns `size` random bytes. Calls with the same `size` return the same bytes, because `size` is the seed of the
// random numbers. The bytes have no repeating pattern, so a test notices a block that is lost, doubled or out of place.
std::string pattern(size_t size);
// Succeeds if both strings are equal. Otherwise the message has their sizes and the position of the first difference,
// but not the bytes.
testing::AssertionResult same_bytes(const std::string& got, const std::string& wanted);
SocketAddress address_of(std::string_view text);
bool has_ipv6_loopback();
size_t count_open_fds();
// Returns the open fds as text, for the message of a failed test. An entry, such as "3=socket:[4711]", has the number
// of an fd and the file or the socket to which the fd refers. The text also lists the fd that reads the folder of the
// open fds.
std::string open_fds();

namespace test {

// Returns the error of `result`. If the call has succeeded, returns an empty error code.
template <class Value>
std::error_code error_of(const Result<Value>& result) {
  return result ? std::error_code{} : result.error();
}

}  // namespace test
}  // namespace peal
