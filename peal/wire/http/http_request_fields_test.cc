// SPDX-License-Identifier: BSD-3-Clause
// Tests of HttpRequestHead::values() and elements().
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/wire/http/http_limits.h>
#include <peal/wire/http/http_request_head.h>
#include <peal/wire/http/http_request_parser.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> elements_in(std::string_view list) {
  test::GuardedBytes guarded(list.size());
  list = guarded.hold(list);
  std::vector<std::string> elements;
  for (std::string_view element; next_list_element(list, element);) elements.emplace_back(element);
  return elements;
}

// The examples of RFC 9110 5.6.1.2.
TEST(HttpRequestFields, elements_of_a_list) {
  EXPECT_THAT(elements_in("foo,bar"), ElementsAre("foo", "bar"));
  EXPECT_THAT(elements_in("foo ,bar,"), ElementsAre("foo", "bar"));
  EXPECT_THAT(elements_in("foo , ,bar,charlie"), ElementsAre("foo", "bar", "charlie"));
  EXPECT_THAT(elements_in(""), IsEmpty());
  EXPECT_THAT(elements_in(","), IsEmpty());
  EXPECT_THAT(elements_in(",   ,"), IsEmpty());
  EXPECT_THAT(elements_in(R"("a,b", c="d\",e" ;f, g)"), ElementsAre(R"("a,b")", R"(c="d\",e" ;f)", "g"));
  EXPECT_THAT(elements_in(R"(a, "b,c)"), ElementsAre("a", R"("b,c)"));
  EXPECT_THAT(elements_in(R"(a, "b\)"), ElementsAre("a", R"("b\)"));
  EXPECT_THAT(elements_in(R"(a\,b)"), ElementsAre(R"(a\)", "b"));
}

TEST(HttpRequestFields, all_lines_of_a_field) {
  constexpr std::string_view kText =
      "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: a, b\r\nAccept: \r\nX-Other: z\r\nx-forwarded-FOR:c\r\n"
      "X-Forwarded-For: ,\r\nX-Forwarded-For: \"d,e\",f\r\n\r\n";
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  ASSERT_EQ(parser.next(kText, head).event, HttpRequestEvent::kHead);
  const auto values = [&](std::string_view name) {
    std::vector<std::string> all;
    for (const std::string_view value : head.values(name)) all.emplace_back(value);
    return all;
  };
  const auto elements = [&](std::string_view name) {
    std::vector<std::string> all;
    for (const std::string_view element : head.elements(name)) all.emplace_back(element);
    return all;
  };
  EXPECT_THAT(values("X-Forwarded-For"), ElementsAre("a, b", "c", ",", "\"d,e\",f"));
  EXPECT_THAT(elements("X-Forwarded-For"), ElementsAre("a", "b", "c", "\"d,e\"", "f"));
  EXPECT_THAT(values("Accept"), ElementsAre(""));
  EXPECT_THAT(elements("Accept"), IsEmpty());
  EXPECT_THAT(values("X-None"), IsEmpty());
  EXPECT_THAT(elements("X-Nothing-At-All"), IsEmpty());
  EXPECT_EQ(head.find("x-other"), "z");
}

}  // namespace
}  // namespace peal
