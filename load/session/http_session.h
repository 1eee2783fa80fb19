// SPDX-License-Identifier: BSD-3-Clause
// HttpSession: requests on one connection after the other, as many in flight as asked for, each with a stamp of its
// own (RFC 9112 9.3.2: answers come in the order of the requests). Of every answer the framing, the status and the
// length of the body are checked, and its bytes where they were given.
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
  // The protocol outlives it.
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
  const bool compares_;     // the bytes of the body
  bool body_right_ = true;  // so far
  uint64_t compared_ = 0;
};

}  // namespace peal::load
