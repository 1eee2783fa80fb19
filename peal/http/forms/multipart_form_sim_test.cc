// SPDX-License-Identifier: BSD-3-Clause
// Uploads over networks that delay, cut and lose: a form comes whole or leaves nothing, and of the largest file only so
// much is held.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <peal/base/memory/when_released.h>
#include <peal/coro/sleep.h>
#include <peal/http/client/http_client.h>
#include <peal/http/forms/multipart_form.h>
#include <peal/http/forms/parts/multipart_text_test.h>
#include <peal/http/server/http_server.h>
#include <peal/net/client.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using test::multipart_file;
using test::multipart_head;
using test::SimPair;

class MultipartFormSim : public test::SimTest {
 protected:
  static constexpr int kUploads = 12;

  // Answers with the bytes of every file, and keeps those.
  Task<> save(HttpExchange& exchange) {
    ++under_way_;
    const auto ended = run_when_released([this] { --under_way_; });
    MultipartForm form(exchange);
    std::string answer;
    for (;;) {
      const Result<FormPart*> part = co_await form.next();
      if (!part) co_return;
      if (*part == nullptr) break;
      Result<SavedFile> file = co_await (*part)->save(folder_.path("."));
      if (!file) co_return;
      answer += std::to_string(file->bytes()) + ",";
      most_names_ = std::max(most_names_, names());
    }
    exchange.respond(200, "", answer);
  }
  size_t names() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path(".")), {}));
  }
  // How many of them were answered.
  size_t upload_many(SimPair& pair) {
    Router router;
    router.post("/", [this](HttpExchange& exchange) { return save(exchange); });
    HttpServer server(*pair.here, std::move(router));
    const std::string url = "http://" + pair.listen(server).to_string() + "/";
    std::map<int, int> ended;
    size_t answered = 0;
    {
      HttpClientOptions options;
      options.most_per_origin = 3;
      options.client.connect_timeout = std::chrono::seconds(2);
      options.deadlines.total = std::chrono::minutes(5);
      HttpClient client(*pair.there, options);
      for (int i = 0; i < kUploads; ++i) {
        const size_t size = static_cast<size_t>(i) * 12'347 % 100'000;
        HttpClientRequest request("POST", url,
                                  multipart_file("a", std::string(size, '\r')) + multipart_file("b", "\r\n--") +
                                      std::string(test::kMultipartEnd));
        request.add("Content-Type", "multipart/form-data; boundary=B");
        EXPECT_TRUE(client.fetch(request, [&, i, size](Result<HttpResponse> response) {
          ++ended[i];
          if (!response || response->status() != 200) return;
          ++answered;
          EXPECT_EQ(response->body, std::to_string(size) + ",4,");
        }));
      }
      EXPECT_TRUE(pair.run_until([&] { return ended.size() == kUploads; }, std::chrono::hours(2)));
      for (const auto& [number, times] : ended) EXPECT_EQ(times, 1) << number;
    }
    EXPECT_TRUE(pair.run_until([&] { return under_way_ == 0; }));
    EXPECT_EQ(names(), 0U);
    return answered;
  }

  const test::TemporaryFolder folder_;
  int under_way_ = 0;
  size_t most_names_ = 0;
};

TEST_F(MultipartFormSim, a_rough_network_loses_no_form) {
  on_seeds(10, rough(), [this](SimPair& pair) { EXPECT_EQ(upload_many(pair), size_t{kUploads}); });
  EXPECT_EQ(most_names_, 0U);
}

TEST_F(MultipartFormSim, in_a_hostile_network_a_form_comes_whole_or_leaves_nothing) {
  size_t answered = 0;
  on_seeds(15, SimOptions::hostile(), [&](SimPair& pair) { answered += upload_many(pair); });
  if (all_seeds()) {
    EXPECT_GT(answered, 20U);
    EXPECT_LT(answered, size_t{15} * kUploads);
  }
}

// 1 GiB is announced, 16 MiB come, as fast as they are taken, and the handler takes its time.
TEST_F(MultipartFormSim, of_a_huge_file_only_a_few_blocks_are_held) {
  on_seeds(1, {}, [](SimPair& pair) {
    constexpr size_t kSent = 16 * 1024 * 1024;
    uint64_t read = 0;
    bool ended = false;
    Router router;
    const auto slowly = [&](HttpExchange& exchange) -> Task<> {
      const auto tells = run_when_released([&] { ended = true; });
      MultipartForm form(exchange);
      const Result<FormPart*> part = co_await form.next();
      for (;;) {
        const Result<std::string_view> piece = co_await (*part)->read();
        if (!piece) co_return;
        read += piece->size();
        co_await sleep(std::chrono::microseconds(100));
      }
    };
    router.post("/", slowly, {.body_limit_bytes = uint64_t{2} << 30});
    HttpServer server(*pair.here, std::move(router));
    const std::string chunk(16 * 1024, 'x');
    size_t sent = 0;
    size_t most_held = 0;
    const auto send_more = [&](Connection& connection) {
      while (sent < kSent) {
        sent += chunk.size();
        if (!connection.send(chunk)) return;
      }
      connection.close();
    };
    std::string head = multipart_head("/", 1 << 30) + multipart_file("f", "");
    head.resize(head.size() - 2);  // the end of the line behind the data
    const auto begin = [&](Connection& connection) {
      connection.send(head);
      send_more(connection);
    };
    Client client(*pair.there, {.on_open = begin, .on_writable = send_more});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    EXPECT_TRUE(pair.run_until([&] {
      most_held = std::max(most_held, BlockPool::here().stats().bytes_in_use);
      return ended;
    }));
    EXPECT_GT(read, kSent - chunk.size());
    // The client's high-water mark, both kernels' buffers, what came while nobody read, and what is being read.
    EXPECT_LT(most_held, size_t{1024} * 1024);
    client.stop();
  });
}

}  // namespace
}  // namespace peal
