// SPDX-License-Identifier: BSD-3-Clause
// HttpSession: sends HTTP requests on a connection, and on the connections that replace it when it has ended. As many
// requests are in flight as the options allow. The answers come in the order of the requests (RFC 9112 9.3.2), so each
// request has its own send time. The session checks the framing and the status of every answer. It checks the length
// and the bytes of the body if the options say what they must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <load/session/http_protocol.h>
#include <load/session/session.h>
#include <peal/wire/http/http_response_parser.h>

namespace peal::load {

class HttpSession final : public Session {
 public:
  // `protocol` must outlive the session.
  HttpSession(Lane& lane, const HttpProtocol& protocol);

 private:
  void send_messages(size_t count) override;
  void begin_connection() override;
  bool accept_end(TimePoint now) override;
  bool in_an_answer() const override { return parser_.started(); }
  void on_received(Buffer& bytes) override;
  void take(std::string_view bytes, TimePoint now);
  [[gnu::noinline]] size_t parse_and_compare(std::string_view bytes);
  void finish(TimePoint now);
  void begin_answer();

  const HttpProtocol& protocol_;
  HttpResponseParser parser_;
  const bool is_head_;
  const bool compares_;     // true if the body is compared with the expected one
  bool body_right_ = true;  // true while all bytes of the body so far were right
  uint64_t compared_ = 0;
};

}  // namespace peal::load
