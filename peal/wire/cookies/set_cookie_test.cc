// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/set_cookie.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::string_literals::operator""s;

TEST(SetCookie, the_defaults_are_safe) {
  EXPECT_EQ(compose_set_cookie({.name = "a", .value = "b"}), "a=b; Path=/; HttpOnly; SameSite=Lax");
}

TEST(SetCookie, every_attribute_has_its_place) {
  EXPECT_EQ(compose_set_cookie({.name = "id",
                                .value = "",
                                .path = "/shop",
                                .domain = "example.org",
                                .max_age_seconds = 3600,
                                .expires_unix_seconds = 784'111'777,
                                .secure = true,
                                .http_only = false,
                                .same_site = SameSite::kNone,
                                .partitioned = true}),
            "id=; Path=/shop; Domain=example.org; Max-Age=3600; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Secure; "
            "SameSite=None; Partitioned");
  EXPECT_EQ(compose_set_cookie(
                {.name = "a", .value = "\"b\"", .path = "", .http_only = false, .same_site = SameSite::kUnset}),
            "a=\"b\"");
  EXPECT_EQ(compose_set_cookie({.name = "a", .value = "b", .max_age_seconds = -5, .same_site = SameSite::kStrict}),
            "a=b; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
}

TEST(SetCookie, a_deletion_is_over_for_whoever_reads_it) {
  EXPECT_EQ(compose_set_cookie(SetCookie::deletion("a")),
            "a=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax");
  EXPECT_EQ(compose_set_cookie(SetCookie::deletion("__host-a")),
            "__host-a=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; SameSite=Lax");
  const SetCookie other = SetCookie::deletion("__Secure-a", "/b", "example.org");
  EXPECT_TRUE(other.secure);
  const SetCookie read = parse_set_cookie(compose_set_cookie(other)).value();
  EXPECT_EQ(read.path, "/b");
  EXPECT_EQ(read.domain, "example.org");
  EXPECT_LT(read.expiry_unix_seconds(1), 1);
}

TEST(SetCookie, what_no_browser_takes_is_refused) {
  const SetCookie cases[] = {
      {.name = ""},
      {.name = "a b"},
      {.name = "a=b"},
      {.name = "a;b"},
      {.name = "a\r\nSet-Cookie: b"},
      {.name = "\xc3\xa4"},
      {.name = "a", .value = "b c"},
      {.name = "a", .value = "b;c"},
      {.name = "a", .value = "b,c"},
      {.name = "a", .value = "b\\c"},
      {.name = "a", .value = "b\"c"},
      {.name = "a", .value = "\""},
      {.name = "a", .value = "\"b"},
      {.name = "a", .value = "\"b\"c\""},
      {.name = "a", .value = "b\r\nX: y"},
      {.name = "a", .value = "b\0"s},
      {.name = "a", .value = "\x7f"},
      {.name = "a", .value = "\xc3\xa4"},
      {.name = "a", .value = std::string(4096, 'b')},
      {.name = "a", .path = "b"},
      {.name = "a", .path = "/b;c"},
      {.name = "a", .path = "/b\n"},
      {.name = "a", .path = "/\xff"},
      {.name = "a", .path = "/" + std::string(1024, 'b')},
      {.name = "a", .domain = "b; c"},
      {.name = "a", .domain = "b\nc"},
      {.name = "a", .domain = ".b"},
      {.name = "a", .domain = "b."},
      {.name = "a", .domain = "."},
      {.name = "a", .domain = "b c"},
      {.name = "a", .domain = "h:80"},
      {.name = "a", .domain = std::string(1025, 'b')},
      {.name = "a", .same_site = SameSite::kNone},
      {.name = "a", .partitioned = true},
      {.name = "__Secure-a"},
      {.name = "__sEcUrE-a"},
      {.name = "__Host-a"},
      {.name = "__Host-a", .domain = "b", .secure = true},
      {.name = "__Host-a", .path = "/b", .secure = true},
      {.name = "__host-a", .path = "", .secure = true},
  };
  for (const SetCookie& cookie : cases) {
    EXPECT_THROW(compose_set_cookie(cookie), std::invalid_argument)
        << cookie.name << '|' << cookie.value << '|' << cookie.path << '|' << cookie.domain;
  }
  EXPECT_NO_THROW(compose_set_cookie({.name = "a", .value = std::string(4095, 'b')}));
  EXPECT_NO_THROW(compose_set_cookie({.name = "__Host-a", .value = "b", .secure = true}));
  EXPECT_NO_THROW(compose_set_cookie({.name = "__Secure-a", .value = "b", .domain = "c", .secure = true}));
}

TEST(SetCookie, what_was_refused_is_not_shown) {
  try {
    compose_set_cookie({.name = "a", .value = "secret value"});
    FAIL();
  } catch (const std::invalid_argument& refused) {
    EXPECT_EQ(std::string(refused.what()).find("secret"), std::string::npos);
  }
}

// Returns the cookie that parse_set_cookie() reads from a text, with every member written out.
std::string cookie_in(std::string_view text) {
  const std::optional<SetCookie> cookie = parse_set_cookie(text);
  if (!cookie) return "ignored";
  std::string all = "[" + cookie->name + "|" + cookie->value + "]";
  if (!cookie->path.empty()) all += " p:" + cookie->path;
  if (!cookie->domain.empty()) all += " d:" + cookie->domain;
  if (cookie->max_age_seconds) all += " m:" + std::to_string(*cookie->max_age_seconds);
  if (cookie->expires_unix_seconds) all += " e:" + std::to_string(*cookie->expires_unix_seconds);
  if (cookie->secure) all += " s";
  if (cookie->http_only) all += " h";
  constexpr std::string_view kSameSite[] = {"", " lax", " strict", " none"};
  all += kSameSite[static_cast<size_t>(cookie->same_site)];
  if (cookie->partitioned) all += " part";
  return all;
}

TEST(SetCookie, as_user_agents_read_it) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"SID=31d4d96e407aad42; Path=/; Domain=example.com", "[SID|31d4d96e407aad42] p:/ d:example.com"},
      {"a=b", "[a|b]"},
      {"a=", "[a|]"},
      {"a", "[|a]"},
      {"=a", "[|a]"},
      {" a b\t= c\td ;", "[a b|c\td]"},
      {"a=b=c", "[a|b=c]"},
      {R"(a="b")", R"([a|"b"])"},
      {R"(a="b;c")", R"([a|"b])"},
      {"a=b; unknown=1; ;;=; Secure; httponly ", "[a|b] s h"},
      {"a=b; SECURE=no; HttpOnly=0", "[a|b] s h"},
      {"a=b; Path=/x; path=/y", "[a|b] p:/y"},
      {"a=b; Path=/x; Path=y", "[a|b]"},
      {"a=b; Path = /x y ", "[a|b] p:/x y"},
      {"a=b; Domain=.EXAMPLE.org", "[a|b] d:example.org"},
      {"a=b; Domain=..c", "[a|b] d:.c"},
      {"a=b; Domain=c; Domain=", "[a|b]"},
      {"a=b; Max-Age=10", "[a|b] m:10"},
      {"a=b; Max-Age=-10", "[a|b] m:0"},
      {"a=b; Max-Age=0; Max-Age=1x", "[a|b] m:0"},
      {"a=b; Max-Age=+1; Max-Age=; Max-Age=-; Max-Age=1.5", "[a|b]"},
      {"a=b; Max-Age=99999999999999999999999999999999", "[a|b] m:34560000"},
      {"a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "[a|b] e:784111777"},
      {"a=b; Expires=yesterday; Expires=06 Nov 94 8:49:37; Expires=never", "[a|b] e:784111777"},
      {"a=b; SameSite=lax", "[a|b] lax"},
      {"a=b; SameSite=STRICT; Secure", "[a|b] s strict"},
      {"a=b; SameSite=None; Secure", "[a|b] s none"},
      {"a=b; SameSite=Strict; SameSite=odd", "[a|b]"},
      {"a=b; SameSite=None", "ignored"},
      {"a=b; Partitioned; Secure", "[a|b] s part"},
      {"", "ignored"},
      {";", "ignored"},
      {"=", "ignored"},
      {" ; Secure", "ignored"},
      {"a=b\x01", "ignored"},
      {"a=b; Path=/\x7f", "ignored"},
      {"a=\xc3\xa4", "[a|\xc3\xa4]"},
      {"__Secure-a=b", "ignored"},
      {"__secure-a=b; Secure; Domain=c", "[__secure-a|b] d:c s"},
      {"__Host-a=b; Secure", "ignored"},
      {"__Host-a=b; Secure; Path=/", "[__Host-a|b] p:/ s"},
      {"__HOST-a=b; Secure; Path=/; Domain=c", "ignored"},
      {"=__Host-a=b; Secure; Path=/", "ignored"},
      {"=__secure-a", "ignored"},
      {"__Host-a; Secure; Path=/", "ignored"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(cookie_in(text), expected) << text;
  EXPECT_EQ(cookie_in("a=b\0"s), "ignored");
  EXPECT_EQ(cookie_in("a=b\n"), "ignored");
}

TEST(SetCookie, what_is_too_long_counts_for_nothing) {
  EXPECT_EQ(cookie_in("a=" + std::string(4095, 'b')).size(), 4099U);
  EXPECT_EQ(cookie_in("a=" + std::string(4096, 'b')), "ignored");
  EXPECT_EQ(cookie_in(std::string(4097, 'b')), "ignored");
  EXPECT_EQ(cookie_in("a=b; Path=/" + std::string(1023, 'p')).size(), 1024 + 8U);
  EXPECT_EQ(cookie_in("a=b; Path=/" + std::string(1024, 'p')), "[a|b]");
  EXPECT_EQ(cookie_in("a=b; Domain=" + std::string(1025, 'd')), "[a|b]");
}

TEST(SetCookie, when_it_is_over) {
  constexpr int64_t kNow = 1'700'000'000;
  const auto expiry = [](std::string_view text) { return parse_set_cookie(text).value().expiry_unix_seconds(kNow); };
  EXPECT_EQ(expiry("a=b"), std::nullopt);
  EXPECT_EQ(expiry("a=b; Max-Age=60"), kNow + 60);
  EXPECT_EQ(expiry("a=b; Max-Age=60; Expires=06 Nov 1994 8:49:37"), kNow + 60);  // Max-Age wins in either order
  EXPECT_EQ(expiry("a=b; Expires=06 Nov 1994 8:49:37; Max-Age=60"), kNow + 60);
  EXPECT_EQ(expiry("a=b; Expires=06 Nov 1994 8:49:37"), 784'111'777);
  EXPECT_LT(expiry("a=b; Max-Age=0"), 0);
  EXPECT_EQ(expiry("a=b; Max-Age=999999999999"), kNow + 400 * 86'400);
  EXPECT_EQ(expiry("a=b; Expires=06 Nov 9994 8:49:37"), kNow + 400 * 86'400);
}

TEST(SetCookie, what_a_server_composes_a_client_reads) {
  const SetCookie cookie{.name = "__Secure-id",
                         .value = "abc/+=~",
                         .path = "/a b",
                         .domain = "example.org",
                         .max_age_seconds = 3600,
                         .expires_unix_seconds = 784'111'777,
                         .secure = true,
                         .http_only = true,
                         .same_site = SameSite::kStrict,
                         .partitioned = true};
  EXPECT_EQ(cookie_in(compose_set_cookie(cookie)),
            "[__Secure-id|abc/+=~] p:/a b d:example.org m:3600 e:784111777 s h strict part");
}

}  // namespace
}  // namespace peal
