// SPDX-License-Identifier: BSD-3-Clause
// HttpCookieJar: stores the cookies that servers set, and returns those to send with a request (RFC 6265bis 5.7, 5.8).
//
//   peal::HttpCookieJar jar;
//   jar.load(text_of_file);
//   options.cookies = &jar;          // HttpClientOptions
//   ... write(jar.save());
//
// There is no list of public suffixes: a server of a.co.uk may set a cookie for co.uk, which then goes to b.co.uk too.
// A domain without a dot ("com", "localhost") can be set only by the host of that name, for itself; the same holds for
// an address. If servers that do not trust each other share a domain, use a client with its own jar for each of them.
//
// Cookies with the attribute Secure are stored and sent over https only. A cookie that arrives over http never replaces
// a Secure cookie. SameSite is ignored, since no other site causes this client's requests.
//
// Several clients of one loop may share a jar. The jar is used on that loop's thread and must outlive these clients.
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

// Limits of the jar. If a limit is exceeded, the jar drops the cookie whose last use, setting or sending, is longest
// ago.
struct HttpCookieJarOptions {
  // The most cookies of one domain. If there are more, cookies without Secure are dropped first. RFC 6265bis 6.1 asks
  // browsers to store at least 50; more would only make requests longer.
  size_t most_per_domain = 50;

  // The most cookies of all domains together.
  size_t most = 3000;
};

class HttpCookieJar {
 public:
  explicit HttpCookieJar(const HttpCookieJarOptions& options = {}) : options_(options) {}
  HttpCookieJar(const HttpCookieJar&) = delete;
  HttpCookieJar& operator=(const HttpCookieJar&) = delete;

  // Returns the system clock's time, in seconds since 1970.
  static int64_t now();

  // Stores the cookies that are set by the Set-Cookie fields of `head`, the head of an answer from `url`.
  void take(const HttpUrl& url, const HttpResponseHead& head, int64_t now_unix_seconds = now());
  // Stores the cookie of one Set-Cookie field. Returns false if the field was ignored because it is malformed or not
  // allowed for `url`. Returns true for a field that deletes a cookie.
  bool set(const HttpUrl& url, std::string_view set_cookie, int64_t now_unix_seconds = now());
  // Returns the value of the Cookie field for a request to `url`, or an empty string if no cookie applies. Cookies with
  // longer paths come first; of equally long paths, older cookies. Cookies that would make the value longer than 8 KiB
  // are left out, since servers refuse longer fields.
  std::string field_for(const HttpUrl& url, int64_t now_unix_seconds = now());

  // Returns all cookies as text in Netscape's cookies.txt format, which curl and wget read and write. Session cookies
  // are included. Cookies that have a tab in their name, value or path are left out.
  std::string save(int64_t now_unix_seconds = now()) const;
  // Adds the cookies of a text in the format of save() and returns how many were added. A line is skipped if it is
  // malformed or expired. It is also skipped if it is valid for all hosts of a domain, and that domain has no dot or is
  // an address.
  size_t load(std::string_view text, int64_t now_unix_seconds = now());

  size_t size() const { return size_; }
  void clear();

 private:
  struct Cookie {
    std::string name;
    std::string value;
    std::string path;
    int64_t expires_at = 0;  // seconds since 1970, or kSession if the cookie has no end of its own
    uint64_t created = 0;    // the value of last_use_ when the cookie was set first
    uint64_t used = 0;       // the value of last_use_ when the cookie was set or sent last
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
  std::unordered_map<std::string, Domain> domains_;  // no Domain in this map is empty
  size_t size_ = 0;                                  // cookies of all domains
  uint64_t last_use_ = 0;                            // counts how often a cookie was set or sent
};

}  // namespace peal
