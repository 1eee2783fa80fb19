// SPDX-License-Identifier: BSD-3-Clause
// For tests of servers, clients and connections: a loop on a thread of its own, which the test's thread asks and waits
// for. Whatever callbacks and raw peers touch is touched on the loop's thread only, inside ask() and wait_until().
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

// Calls `task` on the loop's thread and returns what it returns. The loop must be running, or run soon.
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

// Waits until `done`, asked on the loop's thread every millisecond, is true; fails after ten seconds, or when the loop
// ends first.
testing::AssertionResult wait_until(Loop& loop, std::function<bool()> done);

// What happened, in order. Any thread.
class Journal {
 public:
  void add(std::string line);
  void clear();
  std::vector<std::string> lines() const;
  size_t count(std::string_view line) const;
  // Callbacks that write "open", "message <bytes>" (once for each call, consuming all), "close: <reason>"; where there
  // is one in `own`, that is it.
  SharedConnectionCallbacks callbacks(SharedConnectionCallbacks own = {});

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Sends back what comes.
SharedConnectionCallbacks echoing();

// What a read or a write answered, and an error, as text.
inline std::string told(const Result<Buffer>& read) {
  if (!read) return "error: " + read.error().message();
  return read->empty() ? "end" : read->to_string();
}
inline std::string told(const Result<void>& done) { return done ? "done" : "error: " + done.error().message(); }
inline std::string told(std::error_code error) { return "error: " + error.message(); }
inline std::string told(int error) { return told(errno_code(error)); }

// Options of a server or a client whose connections start `layer` later.
template <class Options>
Options starting_later(const StreamLayer& layer, Options options = {}) {
  options.connection.layer = &layer;
  options.connection.layer_later = true;
  return options;
}

// The parameter is an engine's name. Checks that the test leaves no fd behind.
class NetTest : public LoopEngineTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // For a LoopGroup, which makes its engines by name: there the layer, if one is tested, is the server's option.
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
  // The loop has ended and its thread is joined after it.
  void end_loop() { thread_->finish(); }
  // The loop itself is destroyed.
  void destroy_loop() { thread_.reset(); }

  // A server on loop() at a free port of 127.0.0.1. The test's, so that it dies before what its callbacks refer to.
  [[nodiscard]] std::unique_ptr<Server> serve(ConnectionCallbacks callbacks, const ServerOptions& options = {});
  // Of the server made last.
  const SocketAddress& address() const { return address_; }
  // A socket of the test's, connected to it. `receive_buffer_bytes` bounds what the kernel takes for it.
  RawPeer connect_peer(int receive_buffer_bytes = 0);
  // Sends all of it, pumping; for what does not fit the kernel's buffers.
  testing::AssertionResult send_all(RawPeer& peer, std::string_view bytes);
  // Reads until its connection ends.
  testing::AssertionResult ends(RawPeer& peer);
  // Reads until it has received this, and nothing else.
  testing::AssertionResult hears_all(RawPeer& peer, std::string_view text);
  // What the drain that begins now will report.
  static std::future<DrainReport> drain(Server& server, Duration deadline, DrainMode mode = DrainMode::kAsk);
  static bool reported(const std::future<DrainReport>& report);
  // The peer reads, and closes when its connection has ended, until the drain has reported.
  testing::AssertionResult drains(RawPeer& peer, const std::future<DrainReport>& report);
  // Waits for this line in the journal, so many times.
  testing::AssertionResult noted(std::string_view line, size_t times = 1);
  // What is in the journal once it has so many lines.
  std::vector<std::string> noted_lines(size_t count);

  Journal journal;    // of what the test's callbacks are told
  Journal log_texts;  // of what is logged meanwhile, unless the test sets a sink of its own

 private:
  const SealedLayer layer_;
  std::optional<LoopThread> thread_;
  SocketAddress address_;
};

}  // namespace peal::test
