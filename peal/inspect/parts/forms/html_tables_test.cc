// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/forms/html_tables.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

// Returns the HTML of a page with one fact.
std::string fact(const std::string& key, const Json& value) { return html_tables({{"x", {{key, value}}}}); }

TEST(HtmlTables, objects_become_facts_and_the_units_are_read_off_the_names) {
  const std::string text =
      html_tables({{"taken_unix_seconds", 12.5},
                   {"memory", {{"held_bytes", 1'572'864}, {"up_seconds", 90'061}, {"busy_share", 0.25}}}});
  EXPECT_THAT(text, HasSubstr("<section id=\"memory\"><h2>memory</h2><dl class=\"facts\">"));
  EXPECT_THAT(text, HasSubstr("<div><dt>held</dt><dd data-key=\"held_bytes\" class=\"n\">1.5 MiB</dd></div>"));
  EXPECT_THAT(text, HasSubstr("<dt>up</dt><dd data-key=\"up_seconds\" class=\"n\">1 d 1 h</dd>"));
  EXPECT_THAT(text, HasSubstr("<dt>busy share</dt><dd data-key=\"busy_share\" class=\"n\">25.0 %</dd>"));
  EXPECT_THAT(text, Not(HasSubstr("taken")));
}

TEST(HtmlTables, rows_that_lack_a_member_keep_their_columns) {
  const std::string text = html_tables({{"things", Json::array({{{"a", 1}, {"b", "x"}}, {{"b", "y"}, {"c", true}}})}});
  EXPECT_THAT(text, HasSubstr("<th scope=\"col\" data-key=\"a\" class=\"n\">a</th>"
                              "<th scope=\"col\" data-key=\"b\" class=\"\">b</th>"
                              "<th scope=\"col\" data-key=\"c\" class=\"\">c</th>"));
  EXPECT_THAT(text, HasSubstr("<tr><td data-label=\"a\" class=\"n\">1</td><td data-label=\"b\">x</td>"
                              "<td data-label=\"c\"></td></tr>"));
  EXPECT_THAT(text, HasSubstr("<td data-label=\"a\"></td><td data-label=\"b\">y</td><td data-label=\"c\">yes</td>"));
  EXPECT_THAT(text, Not(HasSubstr("data-columns")));
}

TEST(HtmlTables, times_are_read_at_a_glance) {
  for (const auto& [seconds, shown] : std::initializer_list<std::pair<double, const char*>>{
           {0, ">0 s<"}, {42e-6, ">42 µs<"}, {0.25, ">250 ms<"}, {59.5, ">59.5 s<"}, {3723, ">1:02:03<"}}) {
    EXPECT_THAT(fact("age_seconds", seconds), HasSubstr(shown));
  }
}

TEST(HtmlTables, digits_of_counts_are_grouped_and_those_of_names_are_not) {
  EXPECT_THAT(fact("requests", 1'234'567), HasSubstr(">1,234,567<"));
  EXPECT_THAT(fact("requests", 999), HasSubstr(">999<"));
  EXPECT_THAT(fact("requests", -1000), HasSubstr(">-1,000<"));
  EXPECT_THAT(fact("value", 12345.6), HasSubstr(">12,346<"));
  EXPECT_THAT(fact("value", 3.14159), HasSubstr(">3.142<"));
  EXPECT_THAT(fact("pid", 12345), HasSubstr(">12345<"));
}

TEST(HtmlTables, whatever_a_value_holds_is_text) {
  const std::string hostile = "<script>alert('x')</script>&\"";
  const Json row{{"name", hostile}, {"id", hostile}, {"stack", hostile}, {"labels", {{hostile, hostile}}}};
  const std::string text =
      html_tables({{"warnings", Json::array({{{"what", hostile}, {"link", "/" + hostile}}})},
                   {"things", Json::array({row, {{hostile, 1}}})},
                   {"connection", {{"peer_names", Json::array({hostile})}, {"state", hostile}, {hostile, 1}}}});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("'x'")));
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
}

TEST(HtmlTables, histogram_is_drawn) {
  const std::string text = html_tables({{"loops", Json::array({{{"turns", Json::array({{1e-5, 10}, {1e-3, 0}})}}})}});
  EXPECT_THAT(text, HasSubstr("<svg class=\"bars\" role=\"img\" aria-label=\"histogram\" width=\"12\""));
  EXPECT_THAT(text, HasSubstr("height=\"18.0\"><title>to 10 µs: 10</title>"));
  EXPECT_THAT(text, HasSubstr("height=\"0.0\"><title>to 1 ms: 0</title>"));
}

TEST(HtmlTables, methods_and_routes_link_to_their_pages) {
  const std::string text =
      html_tables({{"routes", Json::array({{{"server", 3}, {"name", "api"}, {"route", "GET /a/{id}&\""}}})},
                   {"slowest", Json::array({{{"route", "GET /b"}}})},
                   {"method", {{"server", 4}, {"method", "a.B.C"}}}});
  EXPECT_THAT(text,
              HasSubstr("<a href=\"/route?server=3&amp;name=GET%20%2Fa%2F%7Bid%7D%26%22\">GET /a/{id}&amp;&quot;</a>"));
  EXPECT_THAT(text, HasSubstr("<td data-label=\"route\">GET /b</td>")) << "its server is not known";
  EXPECT_THAT(text, HasSubstr("<a href=\"/method?server=4&amp;name=a.B.C\">a.B.C</a>"));
}

TEST(HtmlTables, texts_are_listed) {
  EXPECT_THAT(fact("names", Json::array({"DNS:a", "<b>"})), HasSubstr("<dd data-key=\"names\">DNS:a, &lt;b&gt;</dd>"));
  EXPECT_THAT(fact("names", Json::array()), HasSubstr("<dd data-key=\"names\"></dd>"));
  EXPECT_THAT(fact("labels", {{"kind", "buy"}, {"n", 1}}), HasSubstr("<dd data-key=\"labels\">kind=buy, n=1</dd>"));
}

TEST(HtmlTables, rows_inside_rows_become_a_section_that_says_whose_they_are) {
  const Json methods = Json::array({{{"method", "Echo"}, {"calls", 3}}, {{"method", "<b>"}, {"calls", 0}}});
  const std::string text = html_tables(
      {{"servers",
        Json::array({{{"server", 0}, {"name", "front"}}, {{"server", 1}, {"name", "<i>"}, {"methods", methods}}})},
       {"stalls", Json::array()}});
  EXPECT_THAT(text,
              HasSubstr("<section id=\"methods\"><h2>methods</h2><div class=\"scroll\"><table data-columns=\"name "
                        "method calls "));
  EXPECT_THAT(text, HasSubstr("<thead><tr><th scope=\"col\" data-key=\"name\" class=\"\">name</th>"));
  EXPECT_THAT(text,
              HasSubstr("<td data-label=\"name\"><a href=\"/server/1\">&lt;i&gt;</a></td><td data-label=\"method\">"
                        "<a href=\"/method?server=1&amp;name=Echo\">Echo</a></td>"
                        "<td data-label=\"calls\" class=\"n\">3</td></tr>"));
  EXPECT_THAT(text, HasSubstr("<a href=\"/method?server=1&amp;name=%3Cb%3E\">&lt;b&gt;</a></td>"
                              "<td data-label=\"calls\" class=\"n\">0</td>"));
  EXPECT_LT(text.find("id=\"methods\""), text.find("id=\"stalls\""));
}

TEST(HtmlTables, what_needs_attention_is_marked) {
  for (const auto& [seconds, shown] :
       std::initializer_list<std::pair<int64_t, const char*>>{{14 * 86'400, "class=\"n\">14 d 0 h</dd>"},
                                                              {14 * 86'400 - 1, "class=\"n bad\">13 d 23 h</dd>"},
                                                              {-90'000, "class=\"n bad\">-1 d 1 h</dd>"}}) {
    EXPECT_THAT(fact("certificate_left_seconds", seconds), HasSubstr(shown));
  }
  EXPECT_THAT(html_tables({{"loops", Json::array({{{"state", "STALLED"}}})}}),
              HasSubstr("<td data-label=\"state\" class=\"bad\">STALLED</td>"));
}

TEST(HtmlTables, nothing_says_so) {
  EXPECT_THAT(html_tables({{"stalls", Json::array()}}), HasSubstr("<td>none</td>"));
  EXPECT_THAT(html_tables({{"warnings", Json::array()}}), HasSubstr("<p>No warnings.</p>"));
}

TEST(HtmlTables, warnings_come_first_and_lead_to_their_page) {
  const std::string text = html_tables(
      {{"process", {{"pid", 1}}}, {"warnings", Json::array({{{"what", "loop 1 hangs"}, {"link", "/loops"}}})}});
  EXPECT_THAT(text, HasSubstr("<ul><li><a href=\"/loops\">loop 1 hangs</a></li></ul>"));
  EXPECT_LT(text.find("id=\"warnings\""), text.find("id=\"process\""));
}

// The script of the page offers the columns that are not shown. Without scripts, the figures of a loop are below.
TEST(HtmlTables, wide_table_shows_its_important_columns_first) {
  const std::string text =
      html_tables({{"loops", Json::array({{{"loop", 0}, {"spins", 77}, {"thread", "peal-0"}, {"turns", 5}}})}});
  EXPECT_THAT(text, HasSubstr("<table data-columns=\"loop thread engine state "));
  EXPECT_THAT(text, HasSubstr("<td data-label=\"loop\" class=\"n\">0</td><td data-label=\"thread\">peal-0</td></tr>"));
  EXPECT_THAT(text, HasSubstr("<details class=\"more\"><summary>All figures of peal-0</summary>"));
  EXPECT_THAT(text, HasSubstr("<dd data-key=\"spins\" class=\"n\">77</dd>"));
}

TEST(HtmlTables, facts_of_a_server_are_grouped_and_none_is_lost) {
  const std::string text = html_tables(
      {{"server", {{"server", 3}, {"connections", 12}, {"layer_resumed", 4}, {"answers_2xx", 7}, {"new_counter", 9}}}});
  EXPECT_THAT(text, HasSubstr("<h3>Connections</h3><dl class=\"facts\"><div><dt>server</dt>"));
  EXPECT_THAT(text, HasSubstr("<a href=\"/connections?server=3\">12</a>"));
  EXPECT_THAT(text, HasSubstr("<h3>TLS</h3><dl class=\"facts\"><div><dt>layer resumed</dt>"));
  EXPECT_THAT(text, HasSubstr("<h3>Answers</h3><dl class=\"facts\"><div><dt>answers 2xx</dt>"));
  EXPECT_THAT(text, HasSubstr("<h3>Other</h3><dl class=\"facts\"><div><dt>new counter</dt>"));
  EXPECT_THAT(text, Not(HasSubstr("Deadlines")));
}

TEST(HtmlTables, connections_say_how_many_there_are_and_can_be_sorted_without_a_script) {
  Json page{{"query", {{"sort", "queued"}}},
            {"sorts", {"queued", "age"}},
            {"states", {"open"}},
            {"total", 10'000},
            {"matched", 120},
            {"complete", true},
            {"connections", Json::array({{{"id", "0.0.1.2"}, {"queued_bytes", 5}, {"peer", "a:1"}}})}};
  const std::string text = html_tables(page);
  EXPECT_THAT(text, HasSubstr("<p id=\"counts\">120 of 10,000 match; the first 1 are shown.</p>"));
  EXPECT_THAT(text, HasSubstr("class=\"n asks\"><a href=\"?sort=queued\">queued</a></th>"));
  EXPECT_THAT(text, HasSubstr("data-key=\"peer\" class=\"\">peer</th>"));
  EXPECT_THAT(text, HasSubstr("<a href=\"/connection/0.0.1.2\">0.0.1.2</a>"));
  EXPECT_THAT(text, Not(HasSubstr("id=\"states\"")));
  page["complete"] = false;
  EXPECT_THAT(html_tables(page), HasSubstr("A loop did not answer: its connections are missing.</p>"));
}

TEST(HtmlTables, events_have_the_time_since_the_event_before) {
  const std::string text = html_tables({{"flight", Json::array({{{"ago_seconds", 3}, {"event", "opened"}, {"bytes", 0}},
                                                                {{"ago_seconds", 1.0}, {"event", "closing"}}})}});
  EXPECT_THAT(text, HasSubstr("<td data-label=\"since previous\" class=\"n\">0 s</td>"));
  EXPECT_THAT(text, HasSubstr("<td data-label=\"since previous\" class=\"n\">2 s</td>"));
}

}  // namespace
}  // namespace peal::detail
