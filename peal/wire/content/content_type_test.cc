// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_type.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::string parameters_in(std::string_view field_value) {
  test::GuardedBytes guarded(field_value.size());
  std::string_view rest;
  std::string all(split_parameters(guarded.hold(field_value), rest));
  for (FieldParameter parameter; next_field_parameter(rest, parameter);) {
    all.append(" [").append(parameter.name).append(parameter.quoted ? "|\"" : "|").append(parameter.value).append("]");
  }
  return rest.empty() ? all : all + " malformed";
}

TEST(ContentType, parameters_of_a_value) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"text/html", "text/html"},
      {"text/html;charset=utf-8", "text/html [charset|utf-8]"},
      {" text/html ; charset=\"utf-8\" ;; ; x=y ; ", "text/html [charset|\"utf-8] [x|y]"},
      {R"(a; b="c;d=\"e\\"; f=g)", R"(a [b|"c;d=\"e\\] [f|g])"},
      {"a; b=\"\"", "a [b|\"]"},
      {"", ""},
      {";", ""},
      {"a; b", "a malformed"},
      {"a; b=", "a malformed"},
      {"a; =b", "a malformed"},
      {"a; b =c", "a malformed"},
      {"a; b= c", "a [b|c]"},
      {"a; b=c d", "a malformed"},
      {"a; b=\"c", "a malformed"},
      {"a; b=\"c\\\"", "a malformed"},
      {"a; b=\"c\"d; e=f", "a malformed"},
      {"a; b=c; d; e=f", "a [b|c] malformed"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(parameters_in(text), expected) << text;
}

TEST(ContentType, is_a_type_whatever_its_parameters) {
  EXPECT_TRUE(is_content_type("application/x-www-form-urlencoded", "application/x-www-form-urlencoded"));
  EXPECT_TRUE(is_content_type("Application/JSON ; charset=utf-8", "application/json"));
  EXPECT_FALSE(is_content_type("application/jsonx", "application/json"));
  EXPECT_FALSE(is_content_type("application/json, text/html", "application/json"));
  EXPECT_FALSE(is_content_type("", "application/json"));
}

TEST(ContentType, one_parameter) {
  EXPECT_EQ(find_parameter(R"(a; B="c\"d\\e"; b=x)", "b"), R"(c"d\e)");
  EXPECT_EQ(find_parameter("a; b=c", "d"), std::nullopt);
  EXPECT_EQ(find_parameter("a; x; b=c", "b"), std::nullopt);
  EXPECT_EQ(find_parameter("b=c", "b"), std::nullopt);
}

}  // namespace
}  // namespace peal
