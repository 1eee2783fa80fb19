// SPDX-License-Identifier: BSD-3-Clause
// What the pages of the inspector show: the overview, the history, one server, the search of connections.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/inspect/inspector.h>
#include <peal/observe/metrics.h>
#include <tests/support/http/inspector_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using test::http_answer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using InspectorDocuments = test::InspectorRig;

TEST_F(InspectorDocuments, connections_are_sorted_and_filtered_as_the_query_says) {
  serve();
  RawPeer second = RawPeer::connected(served);
  second.send("hello, hello");
  while (second.received() != "hello, hello" && readable(second.fd())) second.pump();
  attach();
  const auto received = [&](const std::string& query) {
    std::vector<int> found;
    const json shown = get_json("/connections?" + query);
    for (const json& each : shown["connections"]) found.push_back(each["received_bytes"]);
    return found;
  };
  EXPECT_THAT(received("sort=received"), ElementsAre(12, 5));
  EXPECT_THAT(received("sort=sent&order=asc"), ElementsAre(5, 12));
  EXPECT_THAT(received("sort=received&most=1"), ElementsAre(12));
  const std::string peer_of_second = get_json("/connections?sort=received&most=1")["connections"][0]["peer"];
  EXPECT_THAT(received("search=" + peer_of_second), ElementsAre(12));
  EXPECT_THAT(received("state=open&sort=received&order=&server="), ElementsAre(12, 5));
  EXPECT_THAT(received("state=reading+out"), IsEmpty());
  EXPECT_THAT(received("server=1"), IsEmpty());
  const json shown = get_json("/connections?sort=age&most=1&search=127");
  EXPECT_EQ(shown["total"], 2);
  EXPECT_EQ(shown["matched"], 2);
  EXPECT_TRUE(shown["complete"]);
  EXPECT_EQ(shown["query"]["sort"], "age");
  EXPECT_EQ(shown["query"]["search"], "127");
  EXPECT_EQ(shown["connections"].size(), 1U);
  for (const char* wrong : {"sort=size", "order=up", "server=x", "most=-1", "state=OPEN"}) {
    EXPECT_THAT(get(fmt::format("/connections?{}", wrong)), StartsWith("HTTP/1.1 400 ")) << wrong;
  }
  EXPECT_THAT(get("/connections?search=%3Cb%3E", "Accept: text/html\r\n"),
              HasSubstr("data-json=\"/connections?search=%3Cb%3E&amp;format=json\""));
}

TEST_F(InspectorDocuments, a_server_has_a_page_of_its_own) {
  serve();
  attach();
  const json shown = get_json("/server/0");
  EXPECT_EQ(shown["server"]["name"], "server 0");
  EXPECT_EQ(shown["server"]["opened"], 1);
  EXPECT_THAT(get("/server/1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/server/x"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(InspectorDocuments, the_overview_warns_of_what_is_wrong) {
  serve();
  attach();
  const json shown = get_json("/");
  EXPECT_TRUE(shown["warnings"].is_array());
  EXPECT_EQ(shown["servers"][0]["connections"], 1);
  EXPECT_EQ(shown["loops"][0]["engine"], "epoll");
  EXPECT_FALSE(shown.contains("connections")) << "no connection is visited for it";
}

TEST_F(InspectorDocuments, samples_are_taken_while_nobody_looks) {
  serve();
  attach();
  json history;
  do {  // the first sample may be older than the server
    history = get_json("/history");
  } while (history["newest"] < 2);
  EXPECT_EQ(history["servers"][0]["connections"].back(), 1);
  EXPECT_TRUE(history["loops"][0]["busy_share"].back().is_number());
  EXPECT_GT(history["process"]["resident_bytes"].back(), 0);
  const auto without = Inspector::attach(*server, "127.0.0.1:0", {.keep_history = false}).value();
  EXPECT_THAT(http_answer(without->address(), "GET /history", {}), HasSubstr("\"loops\":[]"));
}

TEST_F(InspectorDocuments, metrics_of_the_program_are_on_each_page) {
  Counter orders("inspected_orders_total", "Orders.", {{"kind", "new"}});
  TimeHistogram times("inspected_order_seconds", "Times.");
  orders.add(7);
  times.record(std::chrono::milliseconds(2));
  serve();
  attach();
  EXPECT_THAT(get("/metrics"), HasSubstr("\ninspected_orders_total{kind=\"new\"} 7\n"));
  EXPECT_THAT(get("/metrics"), HasSubstr("\ninspected_order_seconds_bucket{le=\"0.003\"} 1\n"));
  EXPECT_EQ(get_json("/json")["metrics"].size(), 2U);
  EXPECT_EQ(get_json("/program")["metrics"][1]["value"], 7);
  EXPECT_EQ(get_json("/")["metrics"][0]["count"], 1);
  EXPECT_THAT(get("/program", "Accept: text/html\r\n"), HasSubstr("<td data-label=\"labels\">kind=new</td>"));
  EXPECT_THAT(get("/program"), HasSubstr("this program's metrics\n"));
  json history;
  do {
    history = get_json("/history");
  } while (history["newest"] < 1 || history["metrics"].empty());
  EXPECT_EQ(history["metrics"][1]["per_second"].back(), 0);
}

}  // namespace
}  // namespace peal
