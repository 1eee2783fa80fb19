// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_cookie_jar.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace peal {
namespace {

constexpr int64_t kNow = 1'800'000'000;

class HttpCookieJarTest : public testing::Test {
 protected:
  bool set(std::string_view url, std::string_view cookie, int64_t now = kNow) {
    return jar.set(HttpUrl::parse(url).value(), cookie, now);
  }
  std::string sent(std::string_view url, int64_t now = kNow) { return jar.field_for(HttpUrl::parse(url).value(), now); }

  HttpCookieJar jar;
};

TEST_F(HttpCookieJarTest, goes_back_to_the_host_that_set_it_and_to_no_other) {
  EXPECT_TRUE(set("http://a.test/", "x=1"));
  EXPECT_EQ(sent("http://a.test/y?z"), "x=1");
  EXPECT_EQ(sent("https://A.TEST:8443/"), "x=1") << "neither port nor scheme counts";
  EXPECT_EQ(sent("http://b.a.test/"), "");
  EXPECT_EQ(sent("http://test/"), "");
  EXPECT_EQ(sent("http://ba.test/"), "");
}

TEST_F(HttpCookieJarTest, a_domain_is_for_all_below_it) {
  EXPECT_TRUE(set("http://www.a.test/", "x=1; Domain=.A.test"));
  EXPECT_EQ(sent("http://a.test/"), "x=1");
  EXPECT_EQ(sent("http://b.c.a.test/"), "x=1");
  EXPECT_EQ(sent("http://evila.test/"), "");
  EXPECT_FALSE(set("http://www.a.test/", "x=1; Domain=b.test"));
  EXPECT_FALSE(set("http://www.a.test/", "x=1; Domain=b.www.a.test")) << "below itself";
  EXPECT_FALSE(set("http://www.a.test/", "x=1; Domain=w.a.test"));
  EXPECT_FALSE(set("http://www.a.test/", "x=1; Domain=test")) << "nobody's";
  EXPECT_FALSE(set("http://evila.test/", "x=1; Domain=a.test"));
  EXPECT_EQ(jar.size(), 1u);
}

TEST_F(HttpCookieJarTest, localhost_and_addresses_are_hosts_of_their_own) {
  EXPECT_TRUE(set("http://localhost/", "l=1; Domain=localhost"));
  EXPECT_EQ(sent("http://localhost/"), "l=1");
  EXPECT_EQ(sent("http://a.localhost/"), "");
  EXPECT_TRUE(set("http://127.0.0.1/", "i=1; Domain=127.0.0.1"));
  EXPECT_EQ(sent("http://127.0.0.1/"), "i=1");
  EXPECT_EQ(sent("http://9.127.0.0.1/"), "") << "a name that ends so";
  EXPECT_FALSE(set("http://127.0.0.1/", "i=2; Domain=0.0.1"));
  EXPECT_TRUE(set("http://[::1]/", "v6=1"));
  EXPECT_EQ(sent("http://[::1]:99/"), "v6=1");
}

TEST_F(HttpCookieJarTest, paths_are_whole_segments_and_the_longest_comes_first) {
  EXPECT_TRUE(set("http://a.test/docs/guide/page?q=/x/", "default=1"));
  EXPECT_TRUE(set("http://a.test/", "root=1; Path=/"));
  EXPECT_TRUE(set("http://a.test/", "docs=1; Path=/docs"));
  EXPECT_TRUE(set("http://a.test/x", "odd=1; Path=odd"));
  EXPECT_EQ(sent("http://a.test/docs/guide/other"), "default=1; docs=1; root=1; odd=1");
  EXPECT_EQ(sent("http://a.test/docs/guide"), "default=1; docs=1; root=1; odd=1");
  EXPECT_EQ(sent("http://a.test/docs/guides"), "docs=1; root=1; odd=1");
  EXPECT_EQ(sent("http://a.test/docs?x"), "docs=1; root=1; odd=1");
  EXPECT_EQ(sent("http://a.test/documents"), "root=1; odd=1");
}

TEST_F(HttpCookieJarTest, secure_ones_stay_out_of_the_clear) {
  EXPECT_FALSE(set("http://a.test/", "s=evil; Secure"));
  EXPECT_TRUE(set("https://a.test/", "s=1; Secure"));
  EXPECT_EQ(sent("http://a.test/"), "");
  EXPECT_EQ(sent("https://a.test/"), "s=1");
  EXPECT_FALSE(set("http://a.test/", "s=evil")) << "nor does one replace it";
  EXPECT_FALSE(set("http://a.test/x/", "s=evil; Path=/x")) << "or come before it";
  EXPECT_FALSE(set("http://b.a.test/", "s=evil; Domain=a.test"));
  EXPECT_TRUE(set("http://a.test/", "other=1"));
  EXPECT_EQ(sent("https://a.test/x"), "s=1; other=1");
  EXPECT_TRUE(set("https://a.test/", "s=2"));
  EXPECT_EQ(sent("http://a.test/"), "s=2; other=1") << "over https it may be given up";
}

TEST_F(HttpCookieJarTest, prefixes_are_kept) {
  EXPECT_FALSE(set("https://a.test/", "__Host-x=1; Path=/"));
  EXPECT_FALSE(set("https://a.test/", "__Host-x=1; Secure; Path=/; Domain=a.test"));
  EXPECT_FALSE(set("http://a.test/", "__Secure-x=1"));
  EXPECT_FALSE(set("http://a.test/", "__Secure-x=1; Secure"));
  EXPECT_TRUE(set("https://a.test/", "__Host-x=1; Secure; Path=/"));
  EXPECT_TRUE(set("https://a.test/", "__Secure-x=1; Secure; Domain=a.test"));
  EXPECT_FALSE(set("https://a.test/x/", "__Host-y=1; Secure")) << "the path must be said";
}

TEST_F(HttpCookieJarTest, they_end_and_are_replaced_and_deleted) {
  EXPECT_TRUE(set("http://a.test/", "age=1; Max-Age=60; Expires=Wed, 01 Jan 2020 00:00:00 GMT"));
  EXPECT_TRUE(set("http://a.test/", "session=1"));
  EXPECT_EQ(sent("http://a.test/", kNow + 59), "age=1; session=1");
  EXPECT_EQ(sent("http://a.test/", kNow + 60), "session=1");
  EXPECT_TRUE(set("http://a.test/", "age=2; Max-Age=60"));
  EXPECT_EQ(sent("http://a.test/"), "age=2; session=1") << "it keeps its place";
  EXPECT_TRUE(set("http://a.test/", "age=; Max-Age=0"));
  EXPECT_TRUE(set("http://a.test/", "session=gone; Expires=Thu, 01 Jan 1970 00:00:00 GMT"));
  EXPECT_EQ(jar.size(), 0u);
  EXPECT_TRUE(set("http://b.test/", "long=1; Max-Age=999999999999999999999"));
  EXPECT_EQ(sent("http://b.test/", kNow + int64_t{399} * 24 * 3600), "long=1");
  EXPECT_EQ(sent("http://b.test/", kNow + int64_t{401} * 24 * 3600), "");
}

TEST_F(HttpCookieJarTest, a_flood_of_them_is_bounded) {
  for (int at = 0; at < 500; ++at) set("http://a.test/", fmt::format("c{}=1", at));
  EXPECT_EQ(jar.size(), 50u);
  EXPECT_TRUE(sent("http://a.test/").starts_with("c450=1; c451=1"));
  EXPECT_TRUE(set("https://a.test/", "guarded=1; Secure"));
  for (int at = 0; at < 500; ++at) set("https://a.test/", fmt::format("d{}=1", at));
  EXPECT_TRUE(sent("https://a.test/").contains("guarded=1")) << "those in the clear go first";
  for (int at = 0; at < 5000; ++at) set(fmt::format("http://h{}.test/", at), "x=1");
  EXPECT_EQ(jar.size(), 3000u);
  EXPECT_EQ(sent("http://h0.test/"), "");
  EXPECT_EQ(sent("http://h4999.test/"), "x=1");
  for (int at = 0; at < 50; ++at) set("http://big.test/", fmt::format("b{}={}", at, std::string(4000, 'x')));
  EXPECT_LE(sent("http://big.test/").size(), 8u * 1024);
  EXPECT_GT(sent("http://big.test/").size(), 7u * 1024);
  const std::string long_host = std::string(300, 'a') + ".test";
  EXPECT_FALSE(set("http://" + long_host + "/", "x=1")) << "no name is so long";
}

TEST_F(HttpCookieJarTest, what_was_sent_last_stays) {
  for (int at = 0; at < 50; ++at) set("http://a.test/", fmt::format("c{}=1; Path=/p{}", at, at));
  EXPECT_EQ(sent("http://a.test/p0"), "c0=1");
  set("http://a.test/", "one=more");
  EXPECT_EQ(sent("http://a.test/p0"), "c0=1; one=more");
  EXPECT_EQ(sent("http://a.test/p1"), "one=more");
}

TEST_F(HttpCookieJarTest, saved_and_loaded_as_curl_has_them) {
  set("https://www.a.test/docs/x", "id=7; Secure; HttpOnly; Max-Age=100");
  set("http://www.a.test/", "all=here; Domain=a.test; Path=/");
  set("http://b.test/", "odd=a\tb");
  const std::string text = jar.save(kNow);
  EXPECT_EQ(text, fmt::format("# Netscape HTTP Cookie File\n\n"
                              "#HttpOnly_www.a.test\tFALSE\t/docs\tTRUE\t{}\tid\t7\n"
                              ".a.test\tTRUE\t/\tFALSE\t0\tall\there\n",
                              kNow + 100));
  HttpCookieJar other;
  EXPECT_EQ(other.load(text, kNow), 2u);
  EXPECT_EQ(other.save(kNow), text);
  EXPECT_EQ(other.field_for(HttpUrl::parse("https://www.a.test/docs/").value(), kNow), "id=7; all=here");
  EXPECT_EQ(jar.save(kNow + 100).find("id"), std::string::npos);
}

TEST_F(HttpCookieJarTest, lines_that_are_none_are_passed_over) {
  EXPECT_EQ(jar.load("# a comment\n\nno tabs\n"
                     "a.test\tFALSE\t/\tFALSE\tsoon\tx\t1\n"
                     "a.test\tFALSE\t/\tFALSE\t5\tx\tlong over\n"
                     ".test\tTRUE\t/\tFALSE\t0\tx\tnobody's\n"
                     "a.test\tFALSE\tx\tFALSE\t0\tx\t1\n"
                     "\tFALSE\t/\tFALSE\t0\tx\t1\n"
                     "a.test\tFALSE\t/\tFALSE\t0\tx\n"
                     "a.test\tFALSE\t/\tFALSE\t0\tx\t1\tmore\n"
                     "a.test\tFALSE\t/\tFALSE\t0\tx\t1; y=2\n"
                     "a.test\tFALSE\t/\tFALSE\t0\tx\t\x01\n"
                     "a.test\tFALSE\t/\tFALSE\t0\t\t\n",
                     kNow),
            0u);
  EXPECT_EQ(jar.load("A.test\tFALSE\t/\tFALSE\t0\tx\t1\r\nb.test\tFALSE\t/\tFALSE\t0\ty\t2", kNow), 2u);
  EXPECT_EQ(sent("http://a.test/"), "x=1");
  EXPECT_EQ(sent("http://b.test/"), "y=2");
}

}  // namespace
}  // namespace peal
