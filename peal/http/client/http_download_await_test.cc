// SPDX-License-Identifier: BSD-3-Clause
// Downloads that a coroutine awaits.
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_download.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::HttpScript;

class HttpDownloadAwaitTest : public test::HttpClientTest {};

TEST_P(HttpDownloadAwaitTest, in_a_coroutine_whole_and_cancelled) {
  const test::TemporaryFolder temporary;
  const std::string path = temporary.path("file");
  HttpScript& server = serve_text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole");
  HttpScript& silent = serve(nullptr);
  HttpScript& refusing = serve_text("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
  bool waits = false;
  auto test = [&]() -> Task<> {
    const HttpClientRequest request(server.url());
    const auto done = co_await download(client(), request, path);
    EXPECT_EQ(done.value().bytes, 5U);
    const HttpClientRequest bad("nonsense");
    EXPECT_EQ((co_await download(client(), bad, path)).error(), HttpTrouble::kBadUrl);
    const HttpClientRequest never(silent.url());
    constexpr auto kPatience = std::chrono::milliseconds(10);
    EXPECT_EQ((co_await download(client(), never, path).within(kPatience)).error(), errno_code(ETIMEDOUT));
    // A download that fails has released the lock of its file before the coroutine is resumed.
    const HttpClientRequest refused(refusing.url());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ((co_await download(client(), refused, path)).error(), server_refusal(503));
    }
    waits = true;
    EXPECT_EQ((co_await download(client(), never, path)).error(), errno_code(ECANCELED));
  };
  Scope scope(loop());
  scope.spawn(test());
  ASSERT_TRUE(run_until([&] { return waits && !silent.requests().empty(); }));
  scope.cancel();
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }));
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpDownloadAwaitTest);

}  // namespace
}  // namespace peal
