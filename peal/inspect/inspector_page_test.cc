// SPDX-License-Identifier: BSD-3-Clause
// The content of the inspector's pages, and which clients get HTML. tests/outside/inspector_test.py opens the pages in
// a browser.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/inspect/inspector.h>
#include <peal/inspect/parts/forms/html_tables.h>
#include <peal/inspect/parts/snapshot_json.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class InspectorPageTest : public testing::Test {
 protected:
  std::string ask(std::string_view what, std::string_view fields) const {
    return test::http_answer(inspector->address(), what, fields);
  }
  std::string page(std::string_view path) const { return ask(fmt::format("GET {}", path), "Accept: text/html\r\n"); }
  nlohmann::json json(std::string_view path) const {
    const std::string answer = ask(fmt::format("GET {}", path), "Accept: application/json\r\n");
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/json\r\n"));
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  const std::unique_ptr<Inspector> inspector = Inspector::start("127.0.0.1:0").value();
};

TEST_F(InspectorPageTest, each_client_gets_the_form_that_it_reads) {
  for (const char* path : {"/", "/loops", "/build"}) {
    EXPECT_THAT(page(path), HasSubstr("\r\nContent-Type: text/html; charset=utf-8\r\n")) << path;
    EXPECT_TRUE(json(path).is_object()) << path;
    EXPECT_THAT(ask(fmt::format("GET {}", path), "Accept: */*\r\n"),
                HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"))
        << path;
    EXPECT_THAT(page(fmt::format("{}?format=text", path)), HasSubstr("\r\nContent-Type: text/plain; charset=utf-8"));
    EXPECT_THAT(page(std::string(path) + "?format=json"), HasSubstr("\r\nContent-Type: application/json\r\n"));
  }
  // A browser that follows the page's link gets JSON as well.
  EXPECT_THAT(page("/json"), HasSubstr("\r\nContent-Type: application/json\r\n"));
}

// Accept was once only searched for the name of the type. A client that refused the type got it, and a client that
// wrote it in capitals did not (RFC 9110 12.4.2, 12.5.1).
TEST_F(InspectorPageTest, what_a_client_likes_is_read_from_accept) {
  const auto type = [&](std::string_view path, std::string_view accepted) {
    const std::string answer = ask(fmt::format("GET {}", path), fmt::format("Accept: {}\r\n", accepted));
    const size_t at = answer.find("Content-Type: ") + 14;
    return answer.substr(at, answer.find_first_of(";\r", at) - at);
  };
  constexpr std::string_view kOpen = "application/openmetrics-text";
  EXPECT_EQ(type("/metrics", "application/openmetrics-text;q=0"), "text/plain");
  EXPECT_EQ(type("/metrics", "application/openmetrics-text;q=0.1, text/plain"), "text/plain");
  EXPECT_EQ(type("/metrics", "Application/OpenMetrics-Text"), kOpen);
  EXPECT_EQ(type("/metrics", "text/plain;q=0.5\r\nAccept: application/openmetrics-text"), kOpen);
  EXPECT_EQ(type("/metrics", "*/*"), "text/plain");
  EXPECT_EQ(type("/loops", "text/html;q=0"), "text/plain");
  EXPECT_EQ(type("/loops", "application/json, text/html;q=0.2"), "application/json");
  EXPECT_EQ(type("/loops", "TEXT/HTML"), "text/html");
  EXPECT_EQ(type("/loops", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), "text/html");
}

// The page's comment about placeholders once contained a placeholder, which was replaced by an empty text.
TEST_F(InspectorPageTest, its_comment_is_whole) {
  EXPECT_THAT(page("/"),
              HasSubstr("<!-- The inspector's page. Names in double braces are filled in when it is served;"));
  EXPECT_THAT(page("/"), Not(HasSubstr("{{")));
}

// Only the page of everything once had the log level. The other pages showed the first level of the list.
TEST_F(InspectorPageTest, the_log_level_is_told_on_every_page) {
  const std::string_view level = to_string(log_level());
  EXPECT_EQ(json("/json")["log"]["level"], level);
  for (const char* part : {"loops", "servers", "connections", "stalls", "threads", "memory", "build"}) {
    const nlohmann::json shown = json(fmt::format("/{}", part));
    EXPECT_EQ(shown.value("log_level", ""), level) << part;
    EXPECT_EQ(shown.value("title", "").empty(), false) << part;
  }
}

// A number of bytes and a number of segments once had the same heading.
TEST_F(InspectorPageTest, no_two_columns_of_a_table_are_called_the_same) {
  detail::Snapshot snapshot;
  snapshot.loops.resize(1);
  snapshot.loops[0].times.emplace();
  detail::ServerSnapshot server{.http = HttpStats{}, .layer = LayerStats{}};
  server.rows.push_back({.name = {}, .facts = {.tcp = TcpFacts{}, .layer = LayerFacts{}}});
  snapshot.servers.push_back(server);
  snapshot.servers[0].layer->valid_until = std::chrono::sys_seconds(std::chrono::hours(1));
  snapshot.stalls.emplace_back();
  snapshot.threads.emplace_back();
  snapshot.metrics.metrics.push_back({.kind = MetricKind::kHistogram, .histogram = Histogram()});
  size_t lists = 0;
  const nlohmann::ordered_json whole = detail::to_json(snapshot);
  for (const auto& [name, value] : whole.items()) {
    if (!value.is_structured()) continue;
    // A row is shown as a list of all its facts here, because its table does not show all columns at first.
    const std::string text = detail::html_tables({{"facts", value.is_array() ? value.at(0) : value}});
    std::set<std::string> names;
    for (size_t at = text.find("<dt>"); at != text.npos; at = text.find("<dt>", at + 1)) {
      const std::string heading = text.substr(at + 4, text.find("</dt>", at) - at - 4);
      EXPECT_TRUE(names.insert(heading).second) << "in " << name << ", two are called " << heading;
    }
    lists += names.empty() ? 0 : 1;
  }
  EXPECT_EQ(lists, 11U);
}

// A proxy on this machine is a local client, but the proxy's clients are not.
TEST_F(InspectorPageTest, who_comes_through_a_proxy_needs_a_token) {
  const std::string level(to_string(log_level()));
  const std::string action = "POST /actions/log_level?level=" + level;
  const std::string fields = "Content-Length: 0\r\nPeal-Action: 1\r\n";
  EXPECT_THAT(ask(action, fields), StartsWith("HTTP/1.1 200 "));
  for (const char* line : {"Forwarded: for=192.0.2.60", "forwarded: ", "Via: 1.1 gate", "X-Forwarded-For: 192.0.2.60",
                           "X-Real-IP: 192.0.2.60", "X-Forwarded-Host: a", "X-Forwarded-Proto: https"}) {
    const std::string answer = ask(action, fields + line + "\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 ")) << line;
    EXPECT_THAT(answer, HasSubstr("without a token, nobody may act through a proxy\n"));
    EXPECT_THAT(ask("GET /json", std::string(line) + "\r\n"), StartsWith("HTTP/1.1 200 ")) << "look they may";
  }
  const auto guarded = Inspector::start("127.0.0.1:0", {.token = "s3cret"}).value();
  EXPECT_THAT(
      test::http_answer(guarded->address(), action, fields + "Via: 1.1 gate\r\nAuthorization: Bearer s3cret\r\n"),
      StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace peal
