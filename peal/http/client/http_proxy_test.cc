// SPDX-License-Identifier: BSD-3-Clause
// Which proxy is used for which URL, and how the environment's variables are read.
#include <peal/http/client/http_proxy.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/http/client/http_trouble.h>
#include <peal/http/client/parts/http_proxy_rules.h>

namespace peal {
namespace {

using detail::HttpProxy;
using detail::HttpProxyRules;

TEST(HttpProxy, an_address_with_or_without_what_may_stand_around_it) {
  const std::pair<const char*, const char*> cases[] = {{"proxy.test:3128", "proxy.test:3128"},
                                                       {"http://proxy.test:3128/", "proxy.test:3128"},
                                                       {"HTTP://Proxy.Test", "proxy.test:80"},
                                                       {"[::1]:8080", "[::1]:8080"},
                                                       {"user:pass@127.0.0.1:1", "127.0.0.1:1"}};
  for (const auto& [text, address] : cases) {
    const auto proxy = HttpProxy::parse(text);
    ASSERT_TRUE(proxy) << text;
    EXPECT_EQ(proxy->place.to_string(), address);
  }
  for (const char* text : {"", "http://", "https://proxy.test", "socks5://proxy.test:1080", "socks5h://a:b@proxy.test",
                           "proxy.test:0", "proxy.test:99999", "proxy test", "http://proxy.test/path", "proxy.test?x",
                           "us%0aer@proxy.test", "us%3aer@proxy.test", "a@b@", "http://http://proxy.test"}) {
    EXPECT_FALSE(HttpProxy::parse(text)) << text;
  }
}

TEST(HttpProxy, credentials_are_decoded_and_basic) {
  EXPECT_EQ(HttpProxy::parse("proxy.test")->authorization, "");
  EXPECT_EQ(HttpProxy::parse("http://Aladdin:open%20sesame@proxy.test")->authorization,
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  EXPECT_EQ(HttpProxy::parse("a:b:c%40d@proxy.test")->authorization, "Basic YTpiOmNAZA==") << "a:b:c@d";
  EXPECT_EQ(HttpProxy::parse("user@proxy.test")->authorization, "Basic dXNlcjo=") << "user:";
}

TEST(HttpProxyRules, hosts_that_are_reached_without) {
  const HttpProxyRules rules({.http = "http.test",
                              .https = "https.test",
                              .direct =
                                  "localhost, .corp.example,example.org:8080 Other.Test. 10.0.0.0/8,192.168.7.1:81,"
                                  "[fd00::]/8,::1,172.16.0.0/12:443,, *.nonsense 10.0.0.0/99,/8,:80"});
  const std::pair<const char*, const char*> cases[] = {
      {"http://localhost/", ""},
      {"https://LOCALHOST:99/", ""},
      {"http://notlocalhost/", "http.test:80"},
      {"https://notlocalhost/", "https.test:80"},
      {"http://corp.example/", ""},
      {"http://a.b.corp.example/", ""},
      {"http://evilcorp.example/", "http.test:80"},
      {"http://corp.example.evil/", "http.test:80"},
      {"http://example.org/", "http.test:80"},
      {"http://example.org:8080/", ""},
      {"http://www.example.org:8080/", ""},
      {"http://other.test./", ""},
      {"http://10.255.0.1/", ""},
      {"http://11.0.0.1/", "http.test:80"},
      {"http://192.168.7.1:81/", ""},
      {"http://192.168.7.1/", "http.test:80"},
      {"http://[fd12::1]/", ""},
      {"http://[fe80::1]/", "http.test:80"},
      {"http://[::1]:5/", ""},
      {"https://172.31.0.1/", ""},
      {"https://172.32.0.1/", "https.test:80"},
      {"http://172.31.0.1/", "http.test:80"},
  };
  for (const auto& [url, address] : cases) {
    const HttpProxy* const proxy = rules.find(HttpUrl::parse(url).value());
    EXPECT_EQ(proxy == nullptr ? "" : proxy->place.to_string(), address) << url;
  }
  const HttpProxyRules all({.http = "http.test", .direct = "example.org, *"});
  EXPECT_EQ(all.find(HttpUrl::parse("http://a.test/").value()), nullptr);
  const HttpProxyRules one({.https = "https.test"});
  EXPECT_EQ(one.find(HttpUrl::parse("http://a.test/").value()), nullptr);
}

TEST(HttpProxyRules, what_is_no_proxy_is_refused_without_repeating_a_password) {
  try {
    HttpProxyRules rules({.http = "socks5://user:secret@proxy.test"});
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
  }
}

class HttpProxiesFromEnvironment : public testing::Test {
 protected:
  static constexpr const char* kNames[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                           "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
  void SetUp() override {
    for (const char* name : kNames) {
      const char* const value = std::getenv(name);
      before_.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (size_t at = 0; at < before_.size(); ++at) {
      if (before_[at]) {
        ::setenv(kNames[at], before_[at]->c_str(), 1);
      } else {
        ::unsetenv(kNames[at]);
      }
    }
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }

 private:
  std::vector<std::optional<std::string>> before_;
};

TEST_F(HttpProxiesFromEnvironment, nothing_is_set) {
  const auto proxies = HttpProxies::from_environment();
  ASSERT_TRUE(proxies);
  EXPECT_EQ(proxies->http + proxies->https + proxies->direct, "");
}

TEST_F(HttpProxiesFromEnvironment, each_for_its_own_and_one_for_the_rest) {
  set("all_proxy", "all.test");
  set("HTTPS_PROXY", "https.test");
  set("NO_PROXY", "a.test");
  auto proxies = HttpProxies::from_environment();
  ASSERT_TRUE(proxies);
  EXPECT_EQ(proxies->http, "all.test");
  EXPECT_EQ(proxies->https, "https.test");
  EXPECT_EQ(proxies->direct, "a.test");
  set("https_proxy", "lower.test");
  set("no_proxy", "");
  proxies = HttpProxies::from_environment();
  EXPECT_EQ(proxies->https, "lower.test");
  EXPECT_EQ(proxies->direct, "a.test") << "empty is not set";
}

TEST_F(HttpProxiesFromEnvironment, what_a_cgi_programs_client_can_set_does_not_count) {
  set("HTTP_PROXY", "evil.test");
  EXPECT_EQ(HttpProxies::from_environment()->http, "");
}

TEST_F(HttpProxiesFromEnvironment, another_kind_of_proxy_is_an_error) {
  set("all_proxy", "socks5://127.0.0.1:1080");
  EXPECT_EQ(HttpProxies::from_environment().error(), HttpTrouble::kBadProxy);
  set("http_proxy", "http.test");
  set("https_proxy", "https.test");
  EXPECT_TRUE(HttpProxies::from_environment()) << "nobody needs it";
}

}  // namespace
}  // namespace peal
