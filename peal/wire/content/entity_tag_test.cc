// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/entity_tag.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::vector<std::string> read_list(std::string_view list) {
  std::vector<std::string> tags;
  for (EntityTag tag; next_entity_tag(list, tag);) tags.push_back((tag.weak ? "W/" : "") + std::string(tag.opaque));
  return tags;
}

// RFC 9110 8.8.3.2.
TEST(EntityTag, comparisons_of_the_standard) {
  struct Row {
    std::string_view one, other;
    bool strong, weak;
  };
  constexpr Row kRows[] = {
      {R"(W/"1")", R"(W/"1")", false, true},
      {R"(W/"1")", R"(W/"2")", false, false},
      {R"(W/"1")", R"("1")", false, true},
      {R"("1")", R"("1")", true, true},
  };
  for (const Row& row : kRows) {
    const EntityTag one = parse_entity_tag(row.one).value();
    const EntityTag other = parse_entity_tag(row.other).value();
    EXPECT_EQ(matches_strongly(one, other), row.strong) << row.one << ' ' << row.other;
    EXPECT_EQ(matches_strongly(other, one), row.strong) << row.one << ' ' << row.other;
    EXPECT_EQ(matches_weakly(one, other), row.weak) << row.one << ' ' << row.other;
  }
}

TEST(EntityTag, well_formed_and_not) {
  for (const std::string_view text : {R"("xyzzy")", R"(W/"xyzzy")", R"("")", R"("a,b;c\")", "\"\xc3\xa4\""}) {
    EXPECT_TRUE(parse_entity_tag(text).has_value()) << text;
  }
  for (const std::string_view text : {"", "\"", "xyzzy", "*", "W/", "W/\"", "w/\"x\"", "W/x", "\"a b\"", "\"a\" ",
                                      " \"a\"", "\"a\"b\"", "\"a", "\"a\x7f\"", "\"a\tb\"", "W \"a\""}) {
    EXPECT_FALSE(parse_entity_tag(text).has_value()) << text;
  }
}

TEST(EntityTag, lists) {
  using Tags = std::vector<std::string>;
  // RFC 9110 13.1.2.
  EXPECT_EQ(read_list(R"("xyzzy", "r2d2xxxx", "c3piozzzz")"), (Tags{R"("xyzzy")", R"("r2d2xxxx")", R"("c3piozzzz")"}));
  EXPECT_EQ(read_list(R"(W/"xyzzy", W/"r2d2xxxx")"), (Tags{R"(W/"xyzzy")", R"(W/"r2d2xxxx")"}));
  EXPECT_EQ(read_list(R"("a,b","c")"), (Tags{R"("a,b")", R"("c")"})) << "a comma inside a tag";
  EXPECT_EQ(read_list("\t, ,\"a\" \t, ,\"b\",, "), (Tags{"\"a\"", "\"b\""})) << "empty elements";
  EXPECT_EQ(read_list(R"("a" "b")"), Tags{}) << "no comma between them";
  EXPECT_EQ(read_list(R"("a", b, "c")"), Tags{R"("a")"}) << "what is malformed ends the list";
  EXPECT_EQ(read_list(""), Tags{});
  EXPECT_EQ(read_list(", ,"), Tags{});
  EXPECT_EQ(read_list("*"), Tags{});
}

TEST(EntityTag, no_beginning_of_a_list_is_read_past_its_end) {
  test::GuardedBytes guarded(100);
  constexpr std::string_view kText = R"("xyzzy" , W/"r2d2", "c")";
  for (size_t size = 0; size <= kText.size(); ++size) {
    const std::string_view list = guarded.hold(kText.substr(0, size));
    EXPECT_LE(read_list(list).size(), 3U);
    parse_entity_tag(list);
  }
}

}  // namespace
}  // namespace peal
