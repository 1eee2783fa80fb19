// SPDX-License-Identifier: BSD-3-Clause
// CompressedAnswer: an exchange's answer in gzip or zstd, where the client asks for it and it is worth it.
//
//   router.get("/report", [](peal::HttpExchange& exchange) {
//     peal::CompressedAnswer(exchange).respond(200, "application/json", make_report());
//   });
//
// It stands between a handler and its exchange for one answer, and has the exchange's own verbs. Coded are media types
// that become notably smaller (is_compressible()), of a size within the bounds, with a status that has a body of its
// own: never 206. The answer then says Content-Encoding and Vary, and its entity tag is weak, since the bytes are
// others (RFC 9110 8.8.1). What has a coding already is answered by the exchange itself; so is a secret together with
// text that the client chose, whose size would give it away (BREACH).
//
// Encoders are kept by their thread and used again. Coding costs the loop's time: about 35 ms for a MiB in gzip and 7
// in zstd. Used where the exchange is good: what goes on later goes on in HttpExchangeHandle::run(), or in a coroutine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <peal/http/server/http_exchange.h>
#include <peal/wire/content/content_encoder.h>

namespace peal {

struct CompressionOptions {
  // Below it a body fits a packet or two anyway.
  size_t smallest_bytes = 1024;
  // A larger body would hold up the loop for too long; it goes as it is. Streams are bounded by what each write brings.
  size_t largest_bytes = 4 * 1024 * 1024;
  // Streams that a thread codes at once, each with an encoder of its own; more go as they are. 1.3 MiB each.
  size_t streams = 64;
  ContentEncoderOptions encoder = {};
};

class CompressedAnswer {
 public:
  explicit CompressedAnswer(HttpExchange& exchange, const CompressionOptions& options = {});
  ~CompressedAnswer();
  CompressedAnswer(CompressedAnswer&&) noexcept;
  CompressedAnswer& operator=(CompressedAnswer&&) noexcept;

  // The value of ETag, quotes included; before respond() or begin(). Other fields are set on the exchange.
  void set_entity_tag(std::string_view tag) { entity_tag_ = tag; }
  // As the exchange's.
  void respond(int status, std::string_view content_type, std::string_view body);
  // A stream; what one write brings can be decoded when it arrives.
  void begin(int status, std::string_view content_type);
  bool write(std::string_view bytes);
  void end();

 private:
  struct ReturnToPool {
    void operator()(ContentEncoder* encoder) const;
  };

  ContentCoding negotiate(int status, std::string_view content_type);
  void put_fields(ContentCoding coding);

  HttpExchange* exchange_;
  CompressionOptions options_;
  std::string entity_tag_;
  std::unique_ptr<ContentEncoder, ReturnToPool> encoder_;  // of a stream that is coded
};

}  // namespace peal
