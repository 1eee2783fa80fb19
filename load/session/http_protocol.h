// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.1 as the load generator speaks it: one request, composed once and sent again and again, and what is expected
// of each answer to it.
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
  // http://HOST[:PORT]/PATH[?QUERY], or https:// where the connections run over TLS, which is the caller's to see to,
  // as is where the host leads.
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;  // beside Host and, with a body, Content-Length
  std::string body;
  // Of each answer. No status: any from 200 to 399.
  std::optional<int> status;
  std::optional<uint64_t> length;  // of its body
  std::optional<std::string> expected_body;
};

class HttpProtocol final : public Protocol {
 public:
  // At most as many requests as go out at once are kept composed side by side, and no more bytes than that.
  static constexpr size_t kComposedBytes = size_t{64} << 10;

  // The error is one sentence. `pipeline` is how many requests may go out at once.
  static std::expected<std::unique_ptr<HttpProtocol>, std::string> make(HttpLoad load, size_t pipeline);

  std::string_view name() const override { return "http"; }
  bool echoes() const override { return false; }
  bool has_first_byte() const override { return true; }
  std::unique_ptr<Session> make_session(Lane& lane) const override;

  const HttpLoad& load() const { return load_; }
  size_t request_bytes() const { return request_bytes_; }
  // How many of them are kept side by side.
  size_t side_by_side() const { return side_by_side_; }
  // `count` requests, one behind the other; count <= side_by_side().
  std::string_view requests(size_t count) const { return std::string_view(many_).substr(0, count * request_bytes_); }
  // The last one of a connection: it says so.
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
