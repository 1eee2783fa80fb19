// SPDX-License-Identifier: BSD-3-Clause
// CompressedAnswer: answers an exchange in gzip or zstd, if the client accepts that and the answer becomes smaller.
//
//   router.get("/report", [](peal::HttpExchange& exchange) {
//     peal::CompressedAnswer(exchange).respond(200, "application/json", make_report());
//   });
//
// The handler uses it instead of its exchange, for one answer; its functions are named as those of HttpExchange. An
// answer is compressed if
// - its media type compresses well (is_compressible());
// - its size is within the bounds of CompressionOptions;
// - its status has a body of its own, which 206 has not.
//
// The compressed answer has Content-Encoding and Vary. Its entity tag is made weak, since the bytes differ (RFC 9110
// 8.8.1). Answer by the exchange itself if the body is already compressed. Do so too if the body holds a secret next to
// text that the client chose: the size would reveal the secret (BREACH).
//
// Each thread keeps its encoders for later answers. Compression takes the loop's time: about 35 ms for a MiB in gzip, 7
// ms in zstd. The object may be used only where the exchange may be used. To continue an answer later, use it in
// HttpExchangeHandle::run() or in a coroutine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <peal/http/server/http_exchange.h>
#include <peal/wire/content/content_encoder.h>

namespace peal {

struct CompressionOptions {
  // Smallest body that is compressed, in bytes. A smaller body fits into one or two packets anyway.
  size_t smallest_bytes = 1024;

  // Largest body that respond() compresses, in bytes. Compressing a larger body would block the loop for too long, so
  // it is sent uncompressed. The limit does not apply to streams: each write() compresses only its own bytes.
  size_t largest_bytes = 4 * 1024 * 1024;

  // Number of streams that one thread compresses at the same time. Each of them has an encoder of 1.3 MiB. A stream
  // that begins while this many are compressed is sent uncompressed.
  size_t streams = 64;

  ContentEncoderOptions encoder = {};
};

class CompressedAnswer {
 public:
  explicit CompressedAnswer(HttpExchange& exchange, const CompressionOptions& options = {});
  ~CompressedAnswer();
  CompressedAnswer(CompressedAnswer&&) noexcept;
  CompressedAnswer& operator=(CompressedAnswer&&) noexcept;

  // Sets the value of the ETag field, quotes included. Must be called before respond() or begin(). All other fields are
  // set on the exchange.
  void set_entity_tag(std::string_view tag) { entity_tag_ = tag; }

  // Sends a whole answer. The parameters are those of HttpExchange::respond().
  void respond(int status, std::string_view content_type, std::string_view body);

  // begin() begins an answer that is a stream, write() sends a piece of it, and end() completes it. The client can
  // decode the bytes of each write() when they arrive.
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
  std::unique_ptr<ContentEncoder, ReturnToPool> encoder_;  // the encoder of a compressed stream; null for other answers
};

}  // namespace peal
