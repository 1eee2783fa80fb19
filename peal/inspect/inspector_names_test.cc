// SPDX-License-Identifier: BSD-3-Clause
// Servers and loops are shown under the names that they were given, until they are removed or destroyed.
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Long, because a busy machine may hold a loop up for longer than an inspector waits by default.
constexpr Duration kReplyTimeout = std::chrono::minutes(1);

class InspectorNamesTest : public testing::Test {
 protected:
  std::string ask(std::string_view request, const std::string& fields = {}) {
    return test::http_answer(inspector->address(), request, "Content-Length: 0\r\n" + fields);
  }
  json all() {
    const std::string answer = ask("GET /json");
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    const json whole = all();
    for (const json& server : whole["servers"]) found.push_back(server["name"]);
    return found;
  }
  std::string drain(int server) {
    return ask(fmt::format("POST /actions/drain?server={}", server), "Peal-Action: 1\r\n");
  }

  test::LoopThread one{{.engine = "epoll"}};
  test::LoopThread other{{.engine = "epoll"}};
  std::unique_ptr<Inspector> inspector;
};

TEST_F(InspectorNamesTest, are_on_the_page_in_the_json_and_in_the_metrics) {
  Server api(one.loop(), test::echoing());
  Server admin(one.loop(), test::echoing());
  Server nameless(one.loop(), test::echoing());
  inspector = Inspector::attach(api, "127.0.0.1:0", {.name = "api", .reply_timeout = kReplyTimeout}).value();
  inspector->add(admin, "a \"<b>&\xff");
  inspector->add(nameless);
  EXPECT_THAT(names(), ElementsAre("api", "a \"<b>&\xef\xbf\xbd", "server 2"));
  EXPECT_THAT(ask("GET /metrics"),
              AllOf(HasSubstr("\npeal_server_connections{server=\"0\",name=\"api\"} 0\n"),
                    HasSubstr("{server=\"1\",name=\"a \\\"<b>&"), HasSubstr("{server=\"2\",name=\"server 2\"} 0\n")));
  EXPECT_THAT(ask("GET /", "Accept: text/html\r\n"),
              AllOf(HasSubstr(">api</a></td>"), HasSubstr("a &quot;&lt;b&gt;&amp;"), Not(HasSubstr("<b>"))));
  inspector.reset();
}

TEST_F(InspectorNamesTest, a_server_is_removed_with_the_loops_that_nothing_else_shows) {
  Server api(one.loop(), test::echoing());
  Server admin(one.loop(), test::echoing());
  CoServer tasks(other.loop(), [](Stream) -> Task<> { co_return; });
  inspector = Inspector::attach(api, "127.0.0.1:0", {.name = "api", .reply_timeout = kReplyTimeout}).value();
  inspector->add(admin, "admin");
  inspector->add(tasks, "tasks");
  EXPECT_EQ(all()["loops"].size(), 2u);
  inspector->remove(tasks);
  EXPECT_THAT(names(), ElementsAre("api", "admin"));
  EXPECT_EQ(all()["loops"].size(), 1u);
  inspector->remove(api);
  EXPECT_EQ(all()["loops"].size(), 1u) << "admin is on it";
  EXPECT_THAT(drain(0), StartsWith("HTTP/1.1 404 "));
  inspector->add(api, "again");
  EXPECT_THAT(names(), ElementsAre("admin", "again"));
  EXPECT_EQ(all()["servers"][1]["server"], 3) << "a number is not used again";
  inspector->remove(api);
  inspector->remove(admin);
  EXPECT_THAT(all()["loops"], IsEmpty());
  inspector.reset();
}

TEST_F(InspectorNamesTest, a_loop_that_was_added_by_itself_is_shown_until_it_is_removed) {
  inspector = Inspector::start("127.0.0.1:0").value();
  inspector->add(one.loop());
  inspector->add(one.loop());
  {
    Server server(one.loop(), test::echoing());
    inspector->add(server);
    inspector->remove(one.loop());
    EXPECT_EQ(all()["loops"].size(), 1u) << "a server is on it";
    inspector->add(one.loop());
  }
  EXPECT_EQ(all()["loops"].size(), 1u);
  inspector->remove(one.loop());
  inspector->remove(other.loop());
  EXPECT_THAT(all()["loops"], IsEmpty());
  auto group = LoopGroup::start(2, {.engine = "epoll"}).value();
  inspector->add(*group);
  EXPECT_EQ(all()["loops"].size(), 2u);
  inspector->remove(*group);
  EXPECT_THAT(all()["loops"], IsEmpty());
}

TEST_F(InspectorNamesTest, a_server_that_dies_first_is_shown_no_more) {
  inspector = Inspector::start("127.0.0.1:0").value();
  {
    Server plain(one.loop(), test::echoing());
    HttpServer http(one.loop(), Router());
    CoServer tasks(other.loop(), [](Stream) -> Task<> { co_return; });
    inspector->add(plain, "plain");
    inspector->add(http, "http");
    inspector->add(tasks, "tasks");
    EXPECT_THAT(names(), ElementsAre("plain", "http", "tasks"));
  }
  EXPECT_THAT(names(), IsEmpty());
  for (const int number : {0, 1, 2}) EXPECT_THAT(drain(number), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(all()["loops"], IsEmpty());
}

// Servers are made and destroyed on another thread while a page is requested again and again.
TEST_F(InspectorNamesTest, servers_come_and_go_while_pages_are_open) {
  inspector = Inspector::start("127.0.0.1:0").value();
  std::atomic<bool> over = false;
  std::thread looking([&] {
    while (!over) {
      EXPECT_THAT(ask("GET /metrics"), StartsWith("HTTP/1.1 200 "));
      EXPECT_THAT(ask("GET /json"), StartsWith("HTTP/1.1 200 "));
      drain(0);
    }
  });
  for (int i = 0; i < 50; ++i) {
    Server stays(one.loop(), test::echoing());
    CoServer goes(other.loop(), [](Stream) -> Task<> { co_return; });
    inspector->add(stays, "stays");
    inspector->add(goes, "goes");
    if (i % 2 == 0) inspector->remove(stays);
  }
  over = true;
  looking.join();
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace peal
