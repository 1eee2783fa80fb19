// SPDX-License-Identifier: BSD-3-Clause
// HttpClientTest: an HttpClient and the servers it asks on one loop and one thread, on every engine, the simulator too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/http/client/http_client.h>
#include <tests/support/engine_rig.h>
#include <tests/support/http_script.h>
#include <tests/support/loop_thread.h>

namespace peal::test {

class HttpClientTest : public LoopEngineTest {
 protected:
  using Answer = std::optional<Result<HttpResponse>>;

  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    set_log_sink([](const LogRecord&) {});
    fds_before_ = count_open_fds();
    loop_ = test::make_loop(LoopEngineTest::options()).value();
    EXPECT_TRUE(loop_->begin());
  }
  void TearDown() override {
    if (IsSkipped()) return;
    client_.reset();
    servers_.clear();
    end_loop();
    loop_.reset();
    set_log_sink({});
    EXPECT_EQ(count_open_fds(), fds_before_) << "fds were left behind";
  }

  Loop& loop() { return *loop_; }
  // Ends with the test, or with drop_client().
  HttpClient& client() {
    if (!client_) client_.emplace(*loop_, client_options);
    return *client_;
  }
  void drop_client() { client_.reset(); }
  void end_loop() { loop_->end(); }
  // Before the first client().
  HttpClientOptions client_options;

  HttpScript& serve(HttpScript::Answer answer, const std::string& address = "127.0.0.1:0",
                    const ServerOptions& options = {}) {
    return *servers_.emplace_back(std::make_unique<HttpScript>(*loop_, std::move(answer), address, options));
  }
  // Answers each request so.
  HttpScript& serve_text(std::string text) {
    return serve(
        [text = std::move(text)](Connection& connection, const HttpScript::Request&) { connection.send(text); });
  }

  // Turns the loop until `done`; fails after ten seconds.
  testing::AssertionResult run_until(const std::function<bool()>& done) {
    bool gave_up = false;
    const TimerId patience = loop_->after(std::chrono::seconds(10), [&] { gave_up = true; });
    while (!done() && !gave_up) loop_->step();
    loop_->cancel(patience);
    return done() ? testing::AssertionSuccess() : testing::AssertionFailure() << "waited in vain";
  }
  // So much that whatever is on its way has come.
  void run_for(Duration time) {
    bool over = false;
    loop_->after(time, [&] { over = true; });
    while (!over) loop_->step();
  }
  void settle() { run_for(std::chrono::milliseconds(20)); }

  // Asks, and waits for the answer.
  Result<HttpResponse> fetch(HttpClientRequest request) {
    Answer answer;
    const Result<HttpFetchId> id = client().fetch(std::move(request), [&](Result<HttpResponse> it) {
      EXPECT_FALSE(answer.has_value());
      answer.emplace(std::move(it));
    });
    if (!id) return std::unexpected(id.error());
    if (!run_until([&] { return answer.has_value(); })) {
      ADD_FAILURE() << "no answer";
      return fail(ETIME);
    }
    return std::move(*answer);
  }
  // What that fails with; none, and a failed test, when it does not.
  std::error_code error_of_fetch(HttpClientRequest request) {
    const Result<HttpResponse> answer = fetch(std::move(request));
    EXPECT_FALSE(answer.has_value()) << answer->status();
    return answer ? std::error_code() : answer.error();
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::vector<std::unique_ptr<HttpScript>> servers_;
  std::optional<HttpClient> client_;
  size_t fds_before_ = 0;
};

}  // namespace peal::test
