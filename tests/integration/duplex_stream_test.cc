// SPDX-License-Identifier: BSD-3-Clause
// Tests in which both sides send at the same time and read meanwhile. Each side uses callbacks or coroutines. In some
// tests a pipe is between them.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/scope.h>
#include <peal/net/pipe.h>
#include <tests/integration/duplex_rig.h>

namespace peal {
namespace {

using test::DuplexTalk;

class DuplexStreamTest : public test::DuplexTest {
 protected:
  void TearDown() override {
    if (tasks_ && tasks_->size() > 0) end_loop();
    tasks_.reset();
    client_.reset();
    relay_.reset();
    co_server_.reset();
    server_.reset();
    DuplexTest::TearDown();
  }

  static Task<> write_all(Stream& stream, DuplexTalk& talk) {
    while (!talk.all_sent()) {
      const std::string_view piece = talk.next();
      const Result<void> written = co_await stream.write(piece);
      if (!written) co_return;
    }
  }
  static Task<> read_all(Stream& stream, DuplexTalk& talk) {
    while (!talk.all_heard()) {
      Result<Buffer> input = co_await stream.read();
      if (!input || input->empty()) co_return;
      talk.hear(input->view());
    }
  }
  // Runs two tasks, one that writes and one that reads, then waits until the other side ends.
  static Task<> talk_in_tasks(Loop& loop, Stream stream, DuplexTalk& talk) {
    Scope scope(loop);
    scope.spawn(write_all(stream, talk));
    scope.spawn(read_all(stream, talk));
    static_cast<void>(co_await scope.join());
    static_cast<void>(co_await stream.read());
    talk.ended = ", its task has ended";
  }
  static Task<> call(Loop& loop, std::string address, ClientOptions options, DuplexTalk& talk) {
    auto stream = co_await connect(address, options);
    if (!stream) {
      talk.ended = ", not connected: " + stream.error().message();
      co_return;
    }
    co_await talk_in_tasks(loop, std::move(*stream), talk);
  }

  void serve_in_callbacks(const ServerOptions& options = server_options()) {
    server_ = std::make_unique<Server>(loop(), talking(server_talk), options);
    address_ = server_->listen("127.0.0.1:0").value();
  }
  void serve_in_tasks() {
    co_server_ = std::make_unique<CoServer>(
        loop(), [this](Stream stream) { return talk_in_tasks(loop(), std::move(stream), server_talk); },
        server_options());
    address_ = co_server_->listen("127.0.0.1:0").value();
  }
  void call_in_callbacks(const ClientOptions& options = client_options()) {
    client_ = std::make_unique<Client>(loop(), talking(client_talk), options);
    ASSERT_TRUE(client_->connect(address_));
  }
  void call_in_tasks() {
    tasks_.emplace(loop());
    tasks_->spawn(call(loop(), address_.to_string(), client_options(), client_talk));
  }
  static SharedConnectionCallbacks answering(DuplexTalk& talk) {
    SharedConnectionCallbacks callbacks = talking(talk);
    callbacks.on_message = [&talk](Connection& connection, Buffer& input) {
      talk.hear(input.view());
      input.clear();
      pump(connection, talk);
    };
    return callbacks;
  }
  // Starts a relay between the clients and the server. It joins each of its connections by pipe() with a new connection
  // to the server.
  void relay() {
    relay_ = std::make_unique<Server>(loop(),
                                      ConnectionCallbacks{.on_open = [this](Connection& near) { join(near); },
                                                          .on_message = [](Connection&, Buffer&) {},
                                                          .on_peer_end = [](Connection&) {}},
                                      server_options());
    behind_ = std::exchange(address_, relay_->listen("127.0.0.1:0").value());
  }
  void expect_it() {
    expect_both(server_talk, client_talk);
    if (tasks_) tasks_->cancel();
    if (client_) client_->stop();
    EXPECT_TRUE(run_until([&] { return !tasks_ || tasks_->size() == 0; }, std::chrono::seconds(60)));
  }

 private:
  void join(Connection& near) {
    near.pause();
    near.emplace_context<std::unique_ptr<Client>>(std::make_unique<Client>(
        loop(),
        ConnectionCallbacks{.on_open =
                                [back = near.handle()](Connection& far) {
                                  back.run([&far](Connection& its_near) { EXPECT_TRUE(pipe(its_near, far)); });
                                }},
        client_options()));
    EXPECT_TRUE(near.context<std::unique_ptr<Client>>()->connect(behind_));
  }

 protected:
  SocketAddress address_, behind_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<CoServer> co_server_;
  std::unique_ptr<Server> relay_;
  std::unique_ptr<Client> client_;
  std::optional<Scope> tasks_;
};

TEST_P(DuplexStreamTest, callbacks_with_callbacks) {
  serve_in_callbacks();
  call_in_callbacks();
  expect_it();
}

// Each on_message sends more output, as in most protocols.
TEST_P(DuplexStreamTest, callbacks_that_send_from_whatever_callback_comes) {
  server_ = std::make_unique<Server>(loop(), answering(server_talk), server_options());
  address_ = server_->listen("127.0.0.1:0").value();
  client_ = std::make_unique<Client>(loop(), answering(client_talk), client_options());
  ASSERT_TRUE(client_->connect(address_));
  expect_it();
}

// Both sides stop reading while their output queue is full (WhenOutputIsFull::kPauseInput). So each may wait for the
// other. Their write_window of 50 ms is expected to end that.
TEST_P(DuplexStreamTest, callbacks_that_ask_for_pauses_on_both_sides_end_at_the_latest_by_their_write_window) {
  ServerOptions serving = server_options();
  ClientOptions calling = client_options();
  serving.connection.when_output_is_full = calling.connection.when_output_is_full = WhenOutputIsFull::kPauseInput;
  serving.connection.write_window = calling.connection.write_window = std::chrono::milliseconds(50);
  serve_in_callbacks(serving);
  call_in_callbacks(calling);
  const auto over = [&] {
    const bool both = server_talk.done() && client_talk.done();
    return both || (!server_talk.ended.empty() && !client_talk.ended.empty());
  };
  EXPECT_TRUE(run_until(over, std::chrono::seconds(60))) << server_talk.report() << client_talk.report();
}

TEST_P(DuplexStreamTest, callbacks_that_read_on_whatever_is_queued) {
  ServerOptions serving = server_options();
  serving.connection.when_output_is_full = WhenOutputIsFull::kReadOn;
  serve_in_callbacks(serving);
  call_in_callbacks();
  expect_it();
}

TEST_P(DuplexStreamTest, tasks_with_callbacks) {
  serve_in_tasks();
  call_in_callbacks();
  expect_it();
}

TEST_P(DuplexStreamTest, callbacks_with_tasks) {
  serve_in_callbacks();
  call_in_tasks();
  expect_it();
}

TEST_P(DuplexStreamTest, tasks_with_tasks) {
  serve_in_tasks();
  call_in_tasks();
  expect_it();
}

TEST_P(DuplexStreamTest, callbacks_with_callbacks_through_a_pipe) {
  serve_in_callbacks();
  relay();
  call_in_callbacks();
  expect_it();
}

TEST_P(DuplexStreamTest, tasks_with_tasks_through_a_pipe) {
  serve_in_tasks();
  relay();
  call_in_tasks();
  expect_it();
}

PEAL_TEST_DUPLEX(DuplexStreamTest);

}  // namespace
}  // namespace peal
