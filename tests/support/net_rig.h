// SPDX-License-Identifier: BSD-3-Clause
// NetTest: a fixture for tests of servers, clients and connections. The loop runs on a thread of its own. Callbacks and
// raw peers use their data on the loop's thread only. The test uses the same data inside ask() and wait_until(), which
// run a function on the loop's thread and wait for it.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/hearing.h>
#include <tests/support/loop_thread.h>
#include <tests/support/raw_peer.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/tls/tls_layers.h>

namespace peal::test {

// Calls `task` on the loop's thread, waits until it has run, and returns its result.
template <class Task>
auto ask(Loop& loop, Task&& task) {
  using Answer = std::invoke_result_t<Task&>;
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  EXPECT_TRUE(loop.mailbox()->insist([&] {
    if constexpr (std::is_void_v<Answer>) {
      task();
      promise.set_value();
    } else {
      promise.set_value(task());
    }
  }));
  return answer.get();
}

// Waits until `done` returns true. `done` is called on the loop's thread every millisecond. The wait fails after 60 s,
// or if the loop ends before `done` returns true.
testing::AssertionResult wait_until(Loop& loop, std::function<bool()> done);

// A list of text lines. They tell what has happened, in order. May be used on any thread.
class Journal {
 public:
  void add(std::string line);
  void clear();
  std::vector<std::string> lines() const;
  size_t count(std::string_view line) const;
  // Returns callbacks that add the lines "open", "message <number of bytes>" and "close: <reason>" to the journal. Each
  // call of on_message adds one line and consumes all input. If a callback is set in `own`, that callback is used
  // instead, and the journal gets no line for its calls.
  SharedConnectionCallbacks callbacks(SharedConnectionCallbacks own = {});

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Returns callbacks that send all input back to the peer.
SharedConnectionCallbacks echoing();

// told() returns the outcome of an operation as text. For an error, the text is "error: " with the error's message. For
// a read, the text is the bytes that were read, or "end" if the input has ended. For any other success, the text is
// "done".
inline std::string told(const Result<Buffer>& read) {
  if (!read) return "error: " + read.error().message();
  return read->empty() ? "end" : read->to_string();
}
inline std::string told(const Result<void>& done) { return done ? "done" : "error: " + done.error().message(); }
inline std::string told(std::error_code error) { return "error: " + error.message(); }
inline std::string told(int error) { return told(errno_code(error)); }

// Returns `options` with `layer` in them. Connections begin without the layer and may start it later, as STARTTLS does.
template <class Options>
Options starting_later(const StreamLayer& layer, Options options = {}) {
  options.connection.layer = &layer;
  options.connection.layer_later = true;
  return options;
}

// A fixture whose parameter is the name of an engine. TearDown() checks that the test has left no fd open.
class NetTest : public LoopEngineTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // group_options() returns the options of a LoopGroup, and group_server() returns the options of its server. The
  // engine of the test may have a layer above it, as "sealed_epoll" does. A LoopGroup cannot make an engine with a
  // layer. The LoopGroup therefore gets the engine without the layer, and the server gets the layer.
  LoopOptions group_options() const { return LoopOptions{.engine = std::string(below(GetParam()))}; }
  ServerOptions group_server(ServerOptions options = {}) const {
    if (is_sealed(GetParam())) options.connection.layer = &layer_;
    if (is_over_tls(GetParam())) options.connection.layer = &tls_server();
    return options;
  }
  Loop& loop() { return thread_->loop(); }
  template <class Task>
  auto ask(Task&& task) {
    return test::ask(loop(), std::forward<Task>(task));
  }
  testing::AssertionResult wait_until(std::function<bool()> done) { return test::wait_until(loop(), std::move(done)); }
  // Ends the loop and joins its thread. The Loop object still exists afterwards.
  void end_loop() { thread_->finish(); }
  // Ends the loop, joins its thread and destroys the loop object.
  void destroy_loop() { thread_.reset(); }

  // Makes a server on loop() that listens at a free port of 127.0.0.1. The test owns the server. It must destroy the
  // server before the data that the server's callbacks use.
  [[nodiscard]] std::unique_ptr<Server> serve(ConnectionCallbacks callbacks, const ServerOptions& options = {});
  // Returns the address of the server that the last call of serve() has made.
  const SocketAddress& address() const { return address_; }
  // Returns a raw peer that is connected to the server. `receive_buffer_bytes` limits the peer's receive buffer; with
  // 0, the kernel chooses the size.
  RawPeer connect_peer(int receive_buffer_bytes = 0);
  // Sends all of `bytes` and waits until the kernel has taken them. Use this function for more bytes than the kernel
  // takes in one call of send(2).
  testing::AssertionResult send_all(RawPeer& peer, std::string_view bytes);
  // Reads from the peer's socket until the connection has ended, by FIN or by an error.
  testing::AssertionResult ends(RawPeer& peer);
  // Reads until the peer has received exactly `text`.
  testing::AssertionResult hears_all(RawPeer& peer, std::string_view text);
  // Begins to drain the server. The returned future gets the report at the end of the drain.
  static std::future<DrainReport> drain(Server& server, Duration deadline, DrainMode mode = DrainMode::kAsk);
  static bool reported(const std::future<DrainReport>& report);
  // Waits for the report of the drain. Meanwhile the peer reads. When the server has ended the connection, the peer
  // closes its socket, because the server's end of the connection waits for the peer's FIN.
  testing::AssertionResult drains(RawPeer& peer, const std::future<DrainReport>& report);
  // Waits until the journal contains `line` exactly `times` times.
  testing::AssertionResult noted(std::string_view line, size_t times = 1);
  // Waits until the journal has exactly `count` lines, and returns the lines.
  std::vector<std::string> noted_lines(size_t count);

  Journal journal;  // lines that the callbacks of the test have added
  // The texts of the log records. If the test sets a log sink of its own, that sink gets the records instead.
  Journal log_texts;

 private:
  const SealedLayer layer_;
  std::optional<LoopThread> thread_;
  SocketAddress address_;
};

}  // namespace peal::test
