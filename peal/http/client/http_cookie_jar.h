// SPDX-License-Identifier: BSD-3-Clause
// HttpCookieJar: what servers ask a client to send back to them (RFC 6265bis 5.7 and 5.8).
//
//   peal::HttpCookieJar jar;
//   jar.load(text_of_file);
//   options.cookies = &jar;          // of HttpClientOptions
//   ... write(jar.save());
//
// There is no list of public suffixes: a server of a.co.uk may set a cookie for co.uk, and so for b.co.uk. What has no
// dot in it ("com", "localhost") is nobody's domain but of the host of that name; an address is a host of its own.
// Where servers that do not trust each other share a domain, give each client that asks one of them a jar of its own.
//
// "Secure" cookies are taken and sent over https alone, and one that came in the clear does not replace one. SameSite
// means nothing here: no other site causes a request of this client's. Any number of clients may share a jar, on one
// loop; it belongs to that loop's thread and outlives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <peal/wire/http/http_response_head.h>
#include <peal/wire/uri/http_url.h>

namespace peal {

// Above a bound the one that was sent longest ago goes, those that are not Secure first where it is a domain's.
struct HttpCookieJarOptions {
  size_t most_per_domain =
      50;  // what browsers must hold (RFC 6265bis 6.1), and no more, so that no server is sent more
  size_t most = 3000;
};

class HttpCookieJar {
 public:
  explicit HttpCookieJar(const HttpCookieJarOptions& options = {}) : options_(options) {}
  HttpCookieJar(const HttpCookieJar&) = delete;
  HttpCookieJar& operator=(const HttpCookieJar&) = delete;

  // Seconds since 1970, by the system's clock.
  static int64_t now();

  // What the Set-Cookie fields of an answer from `url` ask for.
  void take(const HttpUrl& url, const HttpResponseHead& head, int64_t now_unix_seconds = now());
  // One of them. False where it is to be ignored; a deletion is taken.
  bool set(const HttpUrl& url, std::string_view set_cookie, int64_t now_unix_seconds = now());
  // The value of the Cookie field of a request to `url`, of at most 8 KiB, since servers refuse longer ones: cookies of
  // longer paths first, then older ones. Empty: none.
  std::string field_for(const HttpUrl& url, int64_t now_unix_seconds = now());

  // As lines of cookies.txt, Netscape's format, which curl and wget read and write; those that end with the session
  // too, but for values with a tab.
  std::string save(int64_t now_unix_seconds = now()) const;
  // Adds what such lines hold, and answers how many it took: what is malformed, over, or for a domain without a dot is
  // passed over.
  size_t load(std::string_view text, int64_t now_unix_seconds = now());

  size_t size() const { return size_; }
  void clear();

 private:
  struct Cookie {
    std::string name;
    std::string value;
    std::string path;
    int64_t expires_at = 0;  // seconds since 1970; kSession: with the session
    uint64_t created = 0;    // in the order of both
    uint64_t used = 0;
    bool host_only = true;
    bool secure = false;
    bool http_only = false;
  };
  static constexpr int64_t kSession = INT64_MAX;
  using Domain = std::vector<Cookie>;

  bool put(const std::string& domain, Cookie cookie, int64_t now_unix_seconds);
  bool load_line(std::string_view line, int64_t now_unix_seconds);
  bool hides_secure_one(const std::string& domain, const Cookie& cookie) const;
  void drop_excess(const std::string& domain);
  void drop_oldest_of_all();

  const HttpCookieJarOptions options_;
  std::unordered_map<std::string, Domain> domains_;  // none is empty
  size_t size_ = 0;
  uint64_t last_use_ = 0;
};

}  // namespace peal
