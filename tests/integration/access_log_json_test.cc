// SPDX-License-Identifier: BSD-3-Clause
// The access log as JSON: a parser reads each line, whatever bytes a client sends.
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/base/printable.h>
#include <peal/coro/sleep.h>
#include <peal/http/middleware/request_ids.h>
#include <peal/wire/content/json_string.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

class HttpAccessLog : public test::HttpTest {
 protected:
  void log_json(Router router) {
    serve(std::move(router), {.access_log = [this](std::string_view more) { text_ += more; },
                              .access_log_format = HttpAccessLogFormat::kJson});
  }
  // Ends the server and returns the lines of its log.
  std::vector<json> lines() {
    end_server();
    std::vector<json> found;
    for (size_t at = 0; at < text_.size();) {
      const size_t end = text_.find('\n', at);
      found.push_back(json::parse(text_.substr(at, end - at)));
      at = end + 1;
    }
    return found;
  }

  std::string text_;
};
PEAL_TEST_ON_EVERY_PORT(HttpAccessLog);

TEST_P(HttpAccessLog, each_request_is_an_object) {
  Router router;
  router.get("/{path*}", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "hello"); });
  log_json(std::move(router));
  answer_to(
      "GET /a?x=%22 HTTP/1.1\r\nHost: a\r\nUser-Agent: te\"st\\\xFF\r\nReferer: http://r/\xC3\xA9\r\n"
      "Connection: close\r\n\r\n");
  answer_to("\x01\r\n\r\n");
  const std::vector<json> logged = lines();
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_EQ(logged[0]["client"], "127.0.0.1");
  EXPECT_EQ(logged[0]["method"], "GET");
  EXPECT_EQ(logged[0]["target"], "/a?x=%22");
  EXPECT_EQ(logged[0]["version"], "HTTP/1.1");
  EXPECT_EQ(logged[0]["status"], 200);
  EXPECT_EQ(logged[0]["bytes"], 5);
  EXPECT_EQ(logged[0]["referer"], "http://r/\xC3\xA9");
  EXPECT_EQ(logged[0]["user_agent"], "te\"st\\\xEF\xBF\xBD");
  EXPECT_THAT(logged[0]["time"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_FALSE(logged[0].contains("duration_us")) << "the answer was complete in the turn of the request";
  EXPECT_FALSE(logged[0].contains("request_id"));
  EXPECT_EQ(logged[1]["status"], 400);
  EXPECT_FALSE(logged[1].contains("method"));
}

TEST_P(HttpAccessLog, an_object_has_the_id_and_how_long_the_answer_took) {
  Router router;
  router.use(request_ids({.seed = 7}));
  router.get("/", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(milliseconds(3));
    exchange.respond(204);
  });
  log_json(std::move(router));
  const std::string answer = answer_to("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::vector<json> logged = lines();
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_THAT(answer, testing::HasSubstr("X-Request-Id: " + logged[0]["request_id"].get<std::string>() + "\r\n"));
  EXPECT_GE(logged[0]["duration_us"].get<int>(), 3'000);
}

TEST_P(HttpAccessLog, requests_of_one_connection_have_durations_of_their_own) {
  Router router;
  router.get("/slow", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(milliseconds(2));
    exchange.respond(200, "text/plain", "slow");
  });
  router.get("/fast", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "fast"); });
  log_json(std::move(router));
  RawPeer one = peer_sending("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(hears(one, "slow"));
  one.send("GET /fast HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(hears(one, "fast"));
  one.send("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  all_of(one);
  const std::vector<json> logged = lines();
  ASSERT_EQ(logged.size(), 3u);
  EXPECT_GE(logged[0]["duration_us"].get<int>(), 2'000);
  EXPECT_FALSE(logged[1].contains("duration_us"));
  EXPECT_GE(logged[2]["duration_us"].get<int>(), 2'000);
}

TEST_P(HttpAccessLog, any_bytes_of_a_client_are_one_valid_line) {
  log_json(Router());
  std::mt19937 random(11);
  constexpr size_t kRequests = 40;
  for (size_t i = 0; i < kRequests; ++i) {
    std::string agent(8, 'x');
    for (char& byte : agent) {
      do {
        byte = static_cast<char>(random());
      } while (byte == '\r' || byte == '\n');
    }
    answer_to("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nUser-Agent: \"" + agent +
              "\"\r\nConnection: close\r\n\r\n");
  }
  const std::vector<json> logged = lines();
  ASSERT_EQ(logged.size(), kRequests);
  EXPECT_TRUE(is_printable(text_, PrintableAs::kLines));
  size_t refused = 0;
  for (const json& each : logged) {
    if (each.contains("user_agent")) continue;
    EXPECT_EQ(each["status"], 400) << "the parser refuses control characters";
    ++refused;
  }
  EXPECT_LT(refused, kRequests) << "others reach the log";
}

TEST(JsonStringBytes, any_bytes_are_valid_json_and_the_valid_ones_come_back) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000; ++i) {
    std::string text(random() % 40, '\0');
    for (char& byte : text) byte = static_cast<char>(random() % 4 == 0 ? random() : ' ' + random() % 95);
    std::string written;
    append_json_string(written, text);
    EXPECT_TRUE(is_printable(written)) << written;
    std::string valid;
    for (std::string_view rest = text; !rest.empty();) {
      const TextCharacter first = first_character(rest);
      valid += first.code == kNoCharacter ? "\xEF\xBF\xBD" : rest.substr(0, first.bytes);
      rest.remove_prefix(first.bytes);
    }
    EXPECT_EQ(json::parse(written).get<std::string>(), valid);
  }
}

}  // namespace
}  // namespace peal
