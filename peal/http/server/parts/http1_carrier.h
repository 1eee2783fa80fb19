// SPDX-License-Identifier: BSD-3-Clause
// Http1Carrier: one request of an HTTP/1.1 connection (RFC 9112), and how its answer is written on the wire. It writes
// the status line, the Connection field, and what marks the end of the answer: Content-Length, the chunked coding, or
// the end of the connection.
//
// A session has a carrier from the first byte of a request to the end of its answer, and none while idle. The parser is
// a member of the carrier, so that idle connections need no memory for it. The carrier's memory is reused for later
// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <peal/http/server/parts/http_carrier.h>
#include <peal/wire/http/http_request_parser.h>

namespace peal::detail {

class Http1Session;

class Http1Carrier final : public HttpCarrier {
 public:
  explicit Http1Carrier(HttpShard& shard);

  // Begins to carry a new request of this session.
  void open(Http1Session& session) {
    session_ = &session;
    HttpCarrier::open();
  }

  // Makes the parser ready for another request.
  void reset_parser() {
    if (!parser_.is_idle()) [[unlikely]]
      parser_ = HttpRequestParser(shard().core().options().limits);
  }

  HttpRequestParser& parser() { return parser_; }

  // True if the connection is kept after the current answer, as the head of that answer has announced.
  bool keeps() const { return keeps_; }

  size_t memory_bytes() const { return parser_.memory_bytes(); }

  void send_interim(int status, std::string_view field_lines) override;
  void send_answer(const HttpAnswerHead& head, std::string_view body) override;
  void send_ok(std::string_view content_type, std::string_view body) override;
  void send_head(const HttpAnswerHead& head) override { put_head(head, {}); }
  void send_piece(std::string_view piece) override;
  void send_piece(Buffer&& piece) override;
  void send_piece(FileRange piece) override;
  void send_end() override;
  bool flush() override;
  bool above_high_water() const override;
  bool can_send() const override;
  void send_reset() override;
  void advance() override;
  void limit_body(uint64_t bytes) override { parser_.set_body_limit(bytes); }
  int send_upgrade(std::string_view protocol) override;
  void hand_over(std::unique_ptr<UpgradeHandler> handler) override;
  Connection& underlying_connection() const override;
  void give_back() override { shard().release(*this); }

 private:
  bool keeps_connection(bool in_pieces) const;
  bool is_plain(size_t body_bytes) const;
  std::span<std::byte> prepare(Buffer& output, size_t bytes) const;
  void put_plain(std::string_view content_type, std::string_view body);
  void put_head(const HttpAnswerHead& head, std::string_view body);
  void put_chunk_size(uint64_t bytes);

  Http1Session* session_ = nullptr;
  HttpRequestParser parser_;
  bool keeps_ = false;
  bool chunked_ = false;  // true if the content of the answer is sent in chunks
};

}  // namespace peal::detail
