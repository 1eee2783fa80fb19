// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/forms/http_form.h>

#include <string>
#include <utility>

#include <gmock/gmock.h>

namespace peal {
namespace {

std::string fields_of(std::string_view text) {
  std::string all;
  const std::optional<HttpForm> form = HttpForm::parse(std::string(text));
  for (const HttpForm::Field& field : form.value())
    all.append("[").append(field.name).append("|").append(field.value).append("]");
  return all;
}

// The rules of the URL standard, section 5.1.
TEST(HttpForm, fields_as_they_are_sent) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"", ""},
      {"&&", ""},
      {"a=1&b=2", "[a|1][b|2]"},
      {"a", "[a|]"},
      {"a=", "[a|]"},
      {"=a", "[|a]"},
      {"=", "[|]"},
      {"a=b=c", "[a|b=c]"},
      {"a+b=c+d&e%26f=%3D%2B", "[a b|c d][e&f|=+]"},
      {"a=%C3%A4%00%ff", std::string_view("[a|\xc3\xa4\0\xff]", 8)},
      {"a=%&b=%4&c=%zz", "[a|%][b|%4][c|%zz]"},
      {"a[]=1&a[]=2", "[a[]|1][a[]|2]"},
      {"a=1;b=2", "[a|1;b=2]"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(fields_of(text), expected) << text;
}

TEST(HttpForm, values_are_found_by_name_and_type) {
  const HttpForm form = HttpForm::parse("n=12&tag=a&tag=b+c&on=on&x=1.5&bad=12a&n=13").value();
  EXPECT_EQ(form.size(), 7U);
  EXPECT_EQ(form.find("n"), "12");
  EXPECT_EQ(form.find<int>("n"), 12);
  EXPECT_EQ(form.find<bool>("on"), true);
  EXPECT_EQ(form.find<double>("x"), 1.5);
  EXPECT_EQ(form.find<int>("bad"), std::nullopt);
  EXPECT_EQ(form.find<int>("none"), std::nullopt);
  EXPECT_EQ(form.find("N"), std::nullopt);
  EXPECT_THAT(form.all("tag"), testing::ElementsAre("a", "b c"));
  EXPECT_THAT(form.all("none"), testing::IsEmpty());
}

TEST(HttpForm, it_may_be_moved_and_copied) {
  for (const std::string_view text : {"a=1", "a=%31"}) {
    HttpForm first = HttpForm::parse(std::string(text)).value();
    HttpForm copy = first;
    const HttpForm moved = std::move(first);
    first = HttpForm::parse("zzzzzzzzzzzzzzzz=y").value();
    EXPECT_EQ(moved.find("a"), "1");
    EXPECT_EQ(copy.find("a"), "1");
  }
}

TEST(HttpForm, no_more_fields_than_allowed) {
  EXPECT_TRUE(HttpForm::parse("a&b&&c&", 3));
  EXPECT_FALSE(HttpForm::parse("a&b&c&d", 3));
  EXPECT_TRUE(HttpForm::parse("&&&", 0));
}

}  // namespace
}  // namespace peal
