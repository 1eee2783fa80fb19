// SPDX-License-Identifier: BSD-3-Clause
// HttpClientTest: an HttpClient and its servers on one loop and one thread. Suites run on every engine and the
// simulator.
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
#include <tests/support/stepped_loop.h>

namespace peal::test {

class HttpClientTest : public SteppedLoopTest {
 protected:
  using Answer = std::optional<Result<HttpResponse>>;
  using Request = HttpScript::Request;

  void TearDown() override {
    client_.reset();
    servers_.clear();
    SteppedLoopTest::TearDown();
  }

  // Returns the client. The first call makes the client. It exists until drop_client() or the end of the test.
  HttpClient& client() {
    if (!client_) client_.emplace(loop(), client_options);
    return *client_;
  }
  void drop_client() { client_.reset(); }
  // The client's options. They must be set before the first call of client().
  HttpClientOptions client_options;

  HttpScript& serve(HttpScript::Answer answer, const std::string& address = "127.0.0.1:0",
                    const ServerOptions& options = {}) {
    return *servers_.emplace_back(std::make_unique<HttpScript>(loop(), std::move(answer), address, options));
  }
  // Makes a server that answers each request with `text`, which is a complete HTTP answer.
  HttpScript& serve_text(std::string text, const ServerOptions& options = {}) {
    return serve([text = std::move(text)](Connection& connection, const Request&) { connection.send(text); },
                 "127.0.0.1:0", options);
  }
  // Makes a server that answers each request with `text`, a complete HTTP answer, and then closes the connection.
  HttpScript& serve_text_and_close(std::string text) {
    return serve([text = std::move(text)](Connection& connection, const Request&) {
      connection.send(text);
      connection.close();
    });
  }

  // Sends the request and waits for its answer.
  Result<HttpResponse> fetch(HttpClientRequest request) {
    Answer answer;
    const Result<HttpFetchId> id = client().fetch(std::move(request), [&](Result<HttpResponse> it) {
      EXPECT_FALSE(answer.has_value());
      answer.emplace(std::move(it));
    });
    if (!id) return std::unexpected(id.error());
    if (!run_until([&] { return answer.has_value(); })) {
      ADD_FAILURE() << "the request has not ended within 10 s";
      return fail(ETIME);
    }
    return std::move(*answer);
  }
  // Returns the answer to the request. If the request fails, the test fails and the answer is empty.
  HttpResponse answer_of(HttpClientRequest request) {
    const std::string asked = request.method + " " + request.url;
    Result<HttpResponse> answer = fetch(std::move(request));
    EXPECT_TRUE(answer.has_value()) << asked << ": " << answer.error().message();
    return answer ? std::move(*answer) : HttpResponse();
  }
  // Returns the error of a request that is expected to fail. If the request succeeds, the test fails and the returned
  // error code is empty.
  std::error_code error_of_fetch(HttpClientRequest request) {
    const Result<HttpResponse> answer = fetch(std::move(request));
    EXPECT_FALSE(answer.has_value()) << answer->status();
    return answer ? std::error_code() : answer.error();
  }

  // Begins a request. When the request ends, its outcome is stored in `fetched`. fetch_ends() waits until `fetched` has
  // a value.
  HttpFetchId begin_fetch(HttpClientRequest request, HttpFetchCallbacks callbacks) {
    fetched.reset();
    callbacks.on_done = [this, told = std::move(callbacks.on_done)](const Result<void>& how) mutable {
      fetched = how;
      if (told) told(how);
    };
    const Result<HttpFetchId> id = client().start(std::move(request), std::move(callbacks));
    EXPECT_TRUE(id.has_value()) << id.error().message();
    return id.value_or(HttpFetchId::kNone);
  }
  testing::AssertionResult fetch_ends() {
    return run_until([this] { return fetched.has_value(); });
  }
  std::optional<Result<void>> fetched;

 private:
  std::vector<std::unique_ptr<HttpScript>> servers_;
  std::optional<HttpClient> client_;
};

}  // namespace peal::test
