// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/forms/text_tables.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace peal::detail {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

TEST(TextTables, rows_become_aligned_columns) {
  const ordered_json json = {
      {"taken_unix_seconds", 7},
      {"servers",
       {{{"server", 0}, {"name", "api"}, {"held_bytes", 2048}}, {{"server", 10}, {"name", "\u00e9t\u00e9"}}}}};
  EXPECT_EQ(text_tables(json),
            "servers\n"
            "server  name   held\n"
            "     0  api   2 KiB\n"
            "    10  \u00e9t\u00e9\n");
}

TEST(TextTables, a_column_that_the_first_row_lacks_stands_where_its_row_has_it) {
  const ordered_json json = {
      {"things", {{{"a", 1}, {"c", 3}, {"e", 5}}, {{"a", 2}, {"b", 4}, {"c", 6}, {"d", 8}, {"e", 7}, {"f", 9}}}}};
  EXPECT_EQ(text_tables(json),
            "things\n"
            "a  b  c  d  e  f\n"
            "1     3     5\n"
            "2  4  6  8  7  9\n");
}

TEST(TextTables, members_become_lines) {
  EXPECT_EQ(text_tables({{"memory", {{"held_bytes", 1024}, {"soft_mark_bytes", 0}}}}),
            "memory\n"
            "held       1 KiB\n"
            "soft mark  0 B\n");
}

TEST(TextTables, nothing_is_said_to_be_nothing) {
  EXPECT_EQ(text_tables({{"stalls", ordered_json::array()}}), "stalls\nnone\n");
}

ordered_json wide_row(size_t members) {
  ordered_json row;
  for (size_t i = 0; i < members; ++i) row["member_" + std::to_string(i)] = 1'000'000 + i;
  return row;
}

TEST(TextTables, a_wide_table_is_turned) {
  const std::string text = text_tables({{"loops", {wide_row(40), wide_row(40)}}});
  EXPECT_THAT(text, HasSubstr("\nmember 39  1,000,039  1,000,039\n"));
}

TEST(TextTables, a_table_that_is_wide_either_way_has_its_first_members_and_says_so) {
  const std::string text = text_tables({{"connections", ordered_json(30, wide_row(40))}});
  EXPECT_THAT(text, HasSubstr("more columns; ?format=json has them)\n"));
  EXPECT_THAT(text, Not(HasSubstr("member 39")));
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) EXPECT_LE(text.find('\n', at) - at, 162U);
}

TEST(TextTables, values_cannot_break_lines) {
  const std::string text = text_tables({{"servers", {{{"name", "a\nb\x1b[31m"}}}}});
  EXPECT_EQ(text, "servers\nname\na b [31m\n");
}

TEST(TextTables, stacks_follow_the_table_and_histograms_are_left_out) {
  const ordered_json json = {
      {"stalls", {{{"what", "a task"}, {"stack", "f()\nmain()"}, {"turn_histogram", {{0.1, 2}, {0.2, 3}}}}}}};
  EXPECT_EQ(text_tables(json), "stalls\nwhat\na task\n\nf()\nmain()\n");
}

TEST(TextTables, a_list_of_connections_begins_with_how_many_match) {
  ordered_json json = {
      {"query", {{"sort", "age"}}}, {"total", 10'000}, {"matched", 1}, {"connections", {{{"id", "0.0.0.1"}}}}};
  EXPECT_EQ(text_tables(json), "1 of 10,000 connections match\n\nconnections\nid\n0.0.0.1\n");
  json["complete"] = false;
  EXPECT_THAT(text_tables(json), HasSubstr("match; a loop did not answer, so its connections are missing\n"));
}

TEST(TextTables, rows_within_rows_have_tables_of_their_own) {
  const ordered_json json = {{"servers", {{{"name", "rpc"}, {"methods", {{{"method", "Get"}, {"calls", 2}}}}}}}};
  EXPECT_EQ(text_tables(json), "servers\nname\nrpc\n\nmethods of rpc\nmethod  calls\nGet         2\n");
}

}  // namespace
}  // namespace peal::detail
