// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/uri/http_path.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::string_literals::operator""s;

TEST(HttpPath, what_it_becomes) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"/", "/"},
      {"/a/b", "/a/b"},
      {"/a/b/", "/a/b/"},
      {"//a//b", "//a//b"},
      {"/%41%7e%2B+", "/A~++"},
      {"/a%20b%C3%A4%ff", "/a b\xc3\xa4\xff"},
      {"/%2541", "/%41"},  // escapes are decoded only once
      {"/.", "/"},
      {"/a/.", "/a/"},
      {"/a/./b", "/a/b"},
      {"/a/..", "/"},
      {"/a/../b", "/b"},
      {"/a/b/../../c", "/c"},
      {"/a/b/..", "/a/"},
      {"/a//../b", "/a/b"},
      {"/a/%2e%2E/b", "/b"},
      {"/a/.%2e", "/"},
      {"/a/%2e/b", "/a/b"},
      {"/.a/..b/c../...", "/.a/..b/c../..."},
      {"/a%5c..", "/a\\.."},
  };
  for (const auto& [path, expected] : kCases) {
    std::string storage;
    const auto normal = normalize_http_path(path, storage);
    ASSERT_TRUE(normal.has_value()) << path;
    EXPECT_EQ(*normal, expected) << path;
  }
}

TEST(HttpPath, what_is_refused_and_why) {
  const std::pair<std::string_view, HttpPathError> cases[] = {
      {"", HttpPathError::kNotAbsolute},        {"*", HttpPathError::kNotAbsolute},
      {"a/b", HttpPathError::kNotAbsolute},     {"/%", HttpPathError::kBadEscape},
      {"/%4", HttpPathError::kBadEscape},       {"/%4g", HttpPathError::kBadEscape},
      {"/%%41", HttpPathError::kBadEscape},     {"/a%2fb", HttpPathError::kEncodedSlash},
      {"/..%2F", HttpPathError::kEncodedSlash}, {"/a%00", HttpPathError::kEncodedControl},
      {"/%0a", HttpPathError::kEncodedControl}, {"/%7F", HttpPathError::kEncodedControl},
      {"/..", HttpPathError::kAboveRoot},       {"/a/../..", HttpPathError::kAboveRoot},
      {"/%2e%2e/", HttpPathError::kAboveRoot},  {"/./../a", HttpPathError::kAboveRoot},
  };
  for (const auto& [path, error] : cases) {
    std::string storage;
    const auto normal = normalize_http_path(path, storage);
    ASSERT_FALSE(normal.has_value()) << path << " became " << *normal;
    EXPECT_EQ(normal.error(), error) << path << ": " << to_string(normal.error());
  }
}

TEST(HttpPath, a_plain_path_is_not_copied) {
  std::string storage = "untouched";
  const std::string_view path = "/a.b/c";
  EXPECT_EQ(normalize_http_path(path, storage)->data(), path.data());
  EXPECT_EQ(storage, "untouched");
}

TEST(HttpQuery, pairs) {
  std::vector<std::string> pairs;
  for (const HttpQuery::Pair& pair : HttpQuery("a=1&&b&=c&d==e&f=%26")) {
    pairs.push_back(std::string(pair.key) + "|" + std::string(pair.value));
  }
  EXPECT_EQ(pairs, (std::vector{"a|1"s, "b|"s, "|c"s, "d|=e"s, "f|%26"s}));
  for (const std::string_view nothing : {"", "&", "&&&"}) {
    EXPECT_TRUE(HttpQuery(nothing).begin() == HttpQuery(nothing).end()) << nothing;
  }
}

TEST(HttpQuery, values_are_found_decoded) {
  std::string storage;
  const HttpQuery query("v=1&na%6De=two+words%21&v=2&odd=%zz%4&plus%2B=x");
  EXPECT_EQ(query.find("v", storage), "1");
  EXPECT_EQ(query.find("name", storage), "two words!");
  EXPECT_EQ(query.find("odd", storage), "%zz%4");
  EXPECT_EQ(query.find("plus+", storage), "x");
  EXPECT_EQ(query.find("none", storage), std::nullopt);
  EXPECT_EQ(query.find("", storage), std::nullopt);
  std::string text;
  append_http_decoded("a+b%2B", text, false);
  EXPECT_EQ(text, "a+b+");
}

TEST(HttpQuery, an_escaped_text_is_read_back) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  std::string query = "name=";
  append_http_escaped(every, query);
  EXPECT_EQ(query.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%="),
            query.npos);
  EXPECT_TRUE(query.contains("-.%2F0123456789%3A"));
  std::string storage;
  EXPECT_EQ(HttpQuery(query).find("name", storage), every);
}

}  // namespace
}  // namespace peal
