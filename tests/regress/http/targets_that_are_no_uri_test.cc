// SPDX-License-Identifier: BSD-3-Clause
// RFC 3986 does not allow a backslash, a bar, braces, a caret, a quote, a backtick or angle brackets in a URI, so a
// request target has none. But the server accepted them, and each program behind it read `\` or `"` in its own way: as
// a separator, as an escape, or as nothing. A second defect: a method of 9,000 letters was answered with 414, which
// means that the target is too long. docs/http.md says 501.
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

TEST_P(TargetsThatAreNoUri, are_refused_wherever_the_byte_is) {
  for (const char byte : std::string_view("\\|{}^\"<>`\x80\xff")) {
    for (const std::string& before :
         {std::string("/"), std::string("/a?b="), std::string("http://h/"), "/" + std::string(100, 'x')}) {
      EXPECT_THAT(answer_to(get(before + byte + "c")), StartsWith("HTTP/1.1 400 ")) << before << byte;
    }
  }
}

TEST_P(TargetsThatAreNoUri, all_bytes_that_a_uri_may_have_are_accepted) {
  const std::string target = "/-._~:@!$&'()*+,;=%7B%5c?a[]=1&b=/?:@-._~!$'()*+,;";
  EXPECT_THAT(answer_to(get(target)), testing::EndsWith("\r\n\r\n" + target));
}

TEST_P(TargetsThatAreNoUri, method_that_is_too_long_is_unknown_and_not_a_long_target) {
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
