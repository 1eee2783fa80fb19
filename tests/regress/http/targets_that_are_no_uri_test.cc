// SPDX-License-Identifier: BSD-3-Clause
// RFC 3986 has no place for a backslash, a bar, braces, a caret, a quote, a backtick or angle brackets, and so no
// target holds them; but they went through, and each reader behind made of `\` or `"` what it liked: a separator, an
// escape, nothing at all. And a method of 9,000 letters was answered 414, that its target is too long, where the
// document says 501.
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TargetsThatAreNoUri : public test::HttpTest {
 protected:
  void SetUp() override {
    test::HttpTest::SetUp();
    if (IsSkipped()) return;
    serve(Router([](HttpExchange& exchange) {
      exchange.close_after();
      exchange.respond(200, "text/plain", exchange.request().target());
    }));
  }
  static std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"; }
};

TEST_P(TargetsThatAreNoUri, are_refused_wherever_the_byte_stands) {
  for (const char byte : std::string_view("\\|{}^\"<>`\x80\xff")) {
    for (const std::string& before :
         {std::string("/"), std::string("/a?b="), std::string("http://h/"), "/" + std::string(100, 'x')}) {
      EXPECT_THAT(answer_to(get(before + byte + "c")), StartsWith("HTTP/1.1 400 ")) << before << byte;
    }
  }
}

TEST_P(TargetsThatAreNoUri, all_that_a_uri_may_hold_passes) {
  const std::string target = "/-._~:@!$&'()*+,;=%7B%5c?a[]=1&b=/?:@-._~!$'()*+,;";
  EXPECT_THAT(answer_to(get(target)), testing::EndsWith("\r\n\r\n" + target));
}

TEST_P(TargetsThatAreNoUri, method_without_end_is_unknown_and_not_a_long_target) {
  for (const size_t letters : {33U, 9'000U, 40'000U}) {
    const std::string answer = answer_to(std::string(letters, 'M') + " / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 ")) << letters;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << letters;
  }
  EXPECT_THAT(answer_to(get("/" + std::string(9'000, 'x'))), StartsWith("HTTP/1.1 414 "));
}

PEAL_TEST_ON_EVERY_PORT(TargetsThatAreNoUri);

}  // namespace
}  // namespace peal
