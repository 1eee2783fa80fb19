// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/html_tables.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

TEST(HtmlTables, objects_become_sections_and_the_units_are_read_off_the_names) {
  const std::string text =
      html_tables({{"taken_unix_seconds", 12.5},
                   {"memory", {{"held_bytes", 1'572'864}, {"up_seconds", 90'061}, {"busy_share", 0.25}}}});
  EXPECT_THAT(text, HasSubstr("<section id=\"memory\"><h2>memory</h2>"));
  EXPECT_THAT(text, HasSubstr("<th>held</th><td>1.5 MiB</td>"));
  EXPECT_THAT(text, HasSubstr("<th>up</th><td>1 d 1 h</td>"));
  EXPECT_THAT(text, HasSubstr("<th>busy share</th><td>25.0 %</td>"));
  EXPECT_THAT(text, Not(HasSubstr("taken")));
}

TEST(HtmlTables, rows_that_lack_a_member_keep_their_columns) {
  const std::string text = html_tables({{"loops", Json::array({{{"a", 1}, {"b", "x"}}, {{"b", "y"}, {"c", true}}})}});
  EXPECT_THAT(text, HasSubstr("<th>a</th><th>b</th><th>c</th>"));
  EXPECT_THAT(text, HasSubstr("<tr><td class=\"n\">1</td><td>x</td><td></td></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><td></td><td>y</td><td>yes</td></tr>"));
}

TEST(HtmlTables, times_are_read_at_a_glance) {
  for (const auto& [seconds, shown] : std::initializer_list<std::pair<double, const char*>>{
           {0, ">0<"}, {42e-6, "42 us"}, {0.25, "250 ms"}, {59.5, "59.5 s"}, {3723, "1:02:03"}}) {
    EXPECT_THAT(html_tables({{"x", {{"age_seconds", seconds}}}}), HasSubstr(shown));
  }
}

TEST(HtmlTables, whatever_a_value_holds_is_text) {
  const std::string hostile = "<script>alert('x')</script>&\"";
  const std::string text =
      html_tables({{"threads", Json::array({{{"name", hostile}, {"id", hostile}, {"stack", hostile}}})}});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("'x'")));
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
}

TEST(HtmlTables, histogram_is_drawn) {
  const std::string text = html_tables({{"loops", Json::array({{{"turns", Json::array({{1e-5, 10}, {1e-3, 0}})}}})}});
  EXPECT_THAT(text, HasSubstr("<svg class=\"bars\" width=\"12\""));
  EXPECT_THAT(text, HasSubstr("height=\"18.0\"><title>to 10 us: 10</title>"));
  EXPECT_THAT(text, HasSubstr("height=\"0.0\"><title>to 1 ms: 0</title>"));
}

TEST(HtmlTables, texts_are_listed_and_hostile_ones_are_text) {
  const std::string text =
      html_tables({{"connection", {{"names", Json::array({"DNS:a", "<b>"})}, {"none", Json::array()}}}});
  EXPECT_THAT(text, HasSubstr("<th>names</th><td>DNS:a, &lt;b&gt;</td>"));
  EXPECT_THAT(text, HasSubstr("<th>none</th><td></td>"));
}

TEST(HtmlTables, rows_inside_rows_become_a_section_that_says_whose_they_are) {
  const Json methods = Json::array({{{"method", "Echo"}, {"calls", 3}}, {{"method", "<b>"}, {"calls", 0}}});
  const std::string text = html_tables(
      {{"servers",
        Json::array({{{"server", 0}, {"name", "front"}}, {{"server", 1}, {"name", "<i>"}, {"methods", methods}}})},
       {"stalls", Json::array()}});
  EXPECT_THAT(text, HasSubstr("<thead><tr><th>server</th><th>name</th></tr></thead>"));
  EXPECT_THAT(text, HasSubstr("<section id=\"methods\"><h2>methods</h2><div class=\"scroll\"><table><thead><tr>"
                              "<th>server</th><th>name</th><th>method</th><th>calls</th></tr></thead>"));
  EXPECT_THAT(text, HasSubstr("<tr><td class=\"n\">1</td><td>&lt;i&gt;</td><td>Echo</td><td class=\"n\">3</td></tr>"));
  EXPECT_THAT(text, HasSubstr("<td>&lt;b&gt;</td><td class=\"n\">0</td></tr>"));
  EXPECT_LT(text.find("id=\"methods\""), text.find("id=\"stalls\""));
}

TEST(HtmlTables, certificate_that_ends_within_two_weeks_is_marked) {
  for (const auto& [seconds, shown] :
       std::initializer_list<std::pair<int64_t, const char*>>{{14 * 86'400, "<td class=\"n\">14 d 0 h</td>"},
                                                              {14 * 86'400 - 1, "<td class=\"n bad\">13 d 23 h</td>"},
                                                              {-90'000, "<td class=\"n bad\">-1 d 1 h</td>"}}) {
    EXPECT_THAT(html_tables({{"servers", Json::array({{{"certificate_left_seconds", seconds}}})}}), HasSubstr(shown));
  }
}

TEST(HtmlTables, nothing_says_so) { EXPECT_THAT(html_tables({{"stalls", Json::array()}}), HasSubstr("<td>none</td>")); }

}  // namespace
}  // namespace peal::detail
