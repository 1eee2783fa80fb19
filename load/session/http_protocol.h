// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.1 for the load generator. One request is composed once and sent again and again. Every answer is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <load/plan/load_options.h>
#include <load/session/session.h>

namespace peal::load {

struct HttpLoad {
  // The URL has the form http://HOST[:PORT]/PATH[?QUERY], or https:// with the same parts. It is used only to compose
  // the request. The caller must look up the address of HOST and set up TLS.
  std::string url;
  std::string method = "GET";
  // The header fields to be sent in addition to Host. If there is a body, Content-Length is added automatically.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // The values that a right answer must have. If `status` has no value, every status from 200 to 399 is right. If
  // `length` has no value, every length of the body is right. If `expected_body` has no value, every body is right.
  std::optional<int> status;
  std::optional<uint64_t> length;  // length of the body in bytes
  std::optional<std::string> expected_body;
};

class HttpProtocol final : public Protocol {
 public:
  // The request is stored in several copies, one after the other, so that one call can send several requests. This
  // constant limits the size of all copies together, in bytes. If a single request is longer than the limit, one copy
  // is stored.
  static constexpr size_t kComposedBytes = size_t{64} << 10;

  // Makes a protocol that sends the request that `load` describes. `pipeline` is how many requests may be in flight on
  // a connection. If the request cannot be composed, returns one sentence that says why.
  static std::expected<std::unique_ptr<HttpProtocol>, std::string> make(HttpLoad load, size_t pipeline);

  std::string_view name() const override { return "http"; }
  bool echoes() const override { return false; }
  bool has_first_byte() const override { return true; }
  std::unique_ptr<Session> make_session(Lane& lane) const override;

  const HttpLoad& load() const { return load_; }
  size_t request_bytes() const { return request_bytes_; }
  // Returns how many copies of the request are stored one after the other.
  size_t side_by_side() const { return side_by_side_; }
  // Returns the bytes of `count` copies of the request, one after the other. `count` must be at most side_by_side().
  std::string_view requests(size_t count) const { return std::string_view(many_).substr(0, count * request_bytes_); }
  // Returns the request with one more header field: "Connection: close". If a connection may carry only a limited
  // number of requests, the last of them is sent in this form. The server may then close the connection after its
  // answer.
  std::string_view last_request() const { return last_; }

 private:
  HttpProtocol() = default;

  HttpLoad load_;
  size_t request_bytes_ = 0;
  size_t side_by_side_ = 1;
  std::string many_;
  std::string last_;
};

}  // namespace peal::load
