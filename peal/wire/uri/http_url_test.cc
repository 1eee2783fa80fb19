// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/uri/http_url.h>

#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace peal {
namespace {

struct UrlCase {
  std::string_view text;
  HttpUrl url;
  std::string_view authority;
};

TEST(HttpUrl, what_a_client_needs) {
  const UrlCase cases[] = {
      {"http://localhost", {"http", "localhost", 80, "/"}, "localhost"},
      {"http://localhost/", {"http", "localhost", 80, "/"}, "localhost"},
      {"HTTPS://Example.ORG/A?B=c", {"https", "example.org", 443, "/A?B=c"}, "example.org"},
      {"http://127.0.0.1:8080/a/b", {"http", "127.0.0.1", 8080, "/a/b"}, "127.0.0.1:8080"},
      {"http://h:80/", {"http", "h", 80, "/"}, "h"},
      {"http://h:/", {"http", "h", 80, "/"}, "h"},
      {"https://h:80/", {"https", "h", 80, "/"}, "h:80"},
      {"http://h:65535", {"http", "h", 65535, "/"}, "h:65535"},
      {"http://h?q=1", {"http", "h", 80, "/?q=1"}, "h"},
      {"http://h?q=/a", {"http", "h", 80, "/?q=/a"}, "h"},
      {"http://h/p?q#top", {"http", "h", 80, "/p?q"}, "h"},
      {"http://h#top?x", {"http", "h", 80, "/"}, "h"},
      {"http://h/@:[]{}%20|?a[]=1", {"http", "h", 80, "/@:[]{}%20|?a[]=1"}, "h"},
      {"http://[::1]/x", {"http", "::1", 80, "/x"}, "[::1]"},
      {"http://[2001:DB8::1]:8443", {"http", "2001:db8::1", 8443, "/"}, "[2001:db8::1]:8443"},
      {"http://[::ffff:1.2.3.4]:1", {"http", "::ffff:1.2.3.4", 1, "/"}, "[::ffff:1.2.3.4]:1"},
      {"http://my_host-1.x~%41", {"http", "my_host-1.x~%41", 80, "/"}, "my_host-1.x~%41"},
  };
  for (const UrlCase& item : cases) {
    const auto url = HttpUrl::parse(item.text);
    ASSERT_TRUE(url.has_value()) << item.text << ": " << url.error();
    EXPECT_EQ(url->scheme, item.url.scheme) << item.text;
    EXPECT_EQ(url->host, item.url.host) << item.text;
    EXPECT_EQ(url->port, item.url.port) << item.text;
    EXPECT_EQ(url->target, item.url.target) << item.text;
    EXPECT_EQ(url->authority(), item.authority) << item.text;
  }
}

TEST(HttpUrl, what_is_refused_and_why) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "must begin with http"},
      {"localhost:80", "must begin with http"},
      {"ftp://h/", "must begin with http"},
      {"://h", "must begin with http"},
      {"http:/h", "must begin with http"},
      {"http://", "names no host"},
      {"http:///x", "names no host"},
      {"http://:80/", "names no host"},
      {"http://?q", "names no host"},
      {"http://user@h/", "user name"},
      {"http://user:secret@h/", "user name"},
      {"http://h:0/", "port \"0\""},
      {"http://h:65536/", "port \"65536\""},
      {"http://h:99999999999/", "port \"99999999999\""},
      {"http://h:-1/", "port \"-1\""},
      {"http://h:+1/", "port \"+1\""},
      {"http://h:80a/", "port \"80a\""},
      {"http://::1/", "in brackets"},
      {"http://2001:db8::1/", "in brackets"},
      {"http://h:80:90/", "more than one colon"},
      {"http://[::1", "closing bracket"},
      {"http://[::1/x]", "closing bracket"},
      {"http://[::1]x/", "follows the address"},
      {"http://[1.2.3.4]/", "not an IPv6 address"},
      {"http://[]/", "not an IPv6 address"},
      {"http://[fe80::1%25eth0]/", "not an IPv6 address"},
      {"http://a\\b/", "has '\\' in it"},
      {"http://a]/", "has ']' in it"},
      {"http://a b/", "byte 9 of the URL is 0x20"},
      {"http://h/a b", "byte 11 of the URL is 0x20"},
      {"http://h/\r\nX: y", "byte 10 of the URL is 0x0d"},
      {"http://h/\xc3\xa4", "byte 10 of the URL is 0xc3"},
      {"http://h/\x7f", "byte 10 of the URL is 0x7f"},
  };
  for (const auto& [text, reason] : kCases) {
    const auto url = HttpUrl::parse(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_NE(url.error().find(reason), std::string::npos) << text << ": " << url.error();
  }
}

TEST(HttpUrl, a_password_is_not_repeated) {
  EXPECT_EQ(HttpUrl::parse("http://user:secret@h/").error().find("secret"), std::string::npos);
}

TEST(HttpUrl, every_beginning_of_a_url_is_taken_or_refused) {
  constexpr std::string_view kText = "https://[2001:db8::1]:8443/path?query#fragment";
  for (size_t size = 0; size <= kText.size(); ++size) {
    const auto url = HttpUrl::parse(kText.substr(0, size));
    EXPECT_TRUE(!url.has_value() || url->host == "2001:db8::1") << size;
  }
}

struct ReferenceCase {
  std::string_view reference, url;
};

const char* const kReferenceBase = "http://a:81/b/c/d;p?q";

void expect_references(std::span<const ReferenceCase> cases) {
  const HttpUrl base = HttpUrl::parse(kReferenceBase).value();
  for (const ReferenceCase& item : cases) {
    const auto url = base.resolve(item.reference);
    ASSERT_TRUE(url.has_value()) << item.reference << ": " << url.error();
    EXPECT_EQ(url->to_string(), item.url) << item.reference;
  }
}

TEST(HttpUrl, what_a_reference_means_in_rfc_3986_5_4) {
  constexpr ReferenceCase kCases[] = {
      {"http://g/x?y", "http://g/x?y"},
      {"https://g", "https://g/"},
      {"//g/h", "http://g/h"},
      {"//g", "http://g/"},
      {"g", "http://a:81/b/c/g"},
      {"./g", "http://a:81/b/c/g"},
      {"g/", "http://a:81/b/c/g/"},
      {"/g", "http://a:81/g"},
      {"?y", "http://a:81/b/c/d;p?y"},
      {"g?y", "http://a:81/b/c/g?y"},
      {"g?y/./x", "http://a:81/b/c/g?y/./x"},
      {"#s", "http://a:81/b/c/d;p?q"},
      {"g#s", "http://a:81/b/c/g"},
      {";x", "http://a:81/b/c/;x"},
      {"", "http://a:81/b/c/d;p?q"},
      {".", "http://a:81/b/c/"},
      {"./", "http://a:81/b/c/"},
      {"..", "http://a:81/b/"},
      {"../g", "http://a:81/b/g"},
      {"../..", "http://a:81/"},
      {"../../g", "http://a:81/g"},
      {"../../../g", "http://a:81/g"},
      {"/./g", "http://a:81/g"},
      {"/../g", "http://a:81/g"},
      {"g.", "http://a:81/b/c/g."},
      {"..g", "http://a:81/b/c/..g"},
      {"./g/.", "http://a:81/b/c/g/"},
      {"g/../h", "http://a:81/b/c/h"},
      {"g/?a:b", "http://a:81/b/c/g/?a:b"},
  };
  expect_references(kCases);
}

TEST(HttpUrl, a_reference_loses_its_dots_and_is_encoded) {
  constexpr ReferenceCase kCases[] = {
      // Segments of dots are resolved in every branch of RFC 3986 5.2.2, but not in a query.
      {"http://h/x/../y", "http://h/y"},
      {"HTTP://H/x/./../y?z/../z", "http://h/y?z/../z"},
      {"https://h/../..", "https://h/"},
      {"//h/p/../q", "http://h/q"},
      {"//h/..", "http://h/"},
      {"http://h?y/../z", "http://h/?y/../z"},
      {"//h?y/../z", "http://h/?y/../z"},
      {"http://h#/x/../y", "http://h/"},
      {"?y/../z", "http://a:81/b/c/d;p?y/../z"},
      {"/x/../y?z/../z", "http://a:81/y?z/../z"},
      // Bytes that a URL may not have are encoded in every branch; an escape stays as it is.
      {"/caf\xc3\xa9", "http://a:81/caf%C3%A9"},
      {"caf\xe9", "http://a:81/b/c/caf%E9"},
      {"/a b", "http://a:81/a%20b"},
      {"a b?c d\xc3\xa9", "http://a:81/b/c/a%20b?c%20d%C3%A9"},
      {"?\xc3\xa9 ", "http://a:81/b/c/d;p?%C3%A9"},
      {"http://h/\xc3\xa9/../\xc3\xa8?q q", "http://h/%C3%A8?q%20q"},
      {"//h/ x", "http://h/%20x"},
      {"/%c3%a9%20%", "http://a:81/%c3%a9%20%"},
      {"/\"<a>{b}?c|\\^`[]", "http://a:81/%22%3Ca%3E%7Bb%7D?c%7C%5C%5E%60[]"},
      {"/x#\xc3\xa9 y", "http://a:81/x"},
      {" /g ", "http://a:81/g"},
      {"http://h:8080 ", "http://h:8080/"},
      {"8:x", "http://a:81/b/c/8:x"},
      {"[2001:db8::1]/x", "http://a:81/b/c/[2001:db8::1]/x"},
      {"//[2001:DB8::1]:82/\xc3\xa9", "http://[2001:db8::1]:82/%C3%A9"},
  };
  expect_references(kCases);
}

TEST(HttpUrl, what_is_no_reference) {
  const HttpUrl base = HttpUrl::parse(kReferenceBase).value();
  for (const char* reference : {"ftp://g/", "mailto:x", "http:g", "//", "//user@g/", "//g\xc3\xa9/x", "http://a b/",
                                "http://\xc3\xa9", "/g\th", "/g\x7fh", "mailto:\xc3\xa9"}) {
    EXPECT_FALSE(base.resolve(reference).has_value()) << reference;
  }
}

}  // namespace
}  // namespace peal
