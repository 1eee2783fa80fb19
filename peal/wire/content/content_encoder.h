// SPDX-License-Identifier: BSD-3-Clause
// ContentEncoder: encodes bodies in gzip (RFC 1952, by zlib) or zstd (RFC 8878, by libzstd). One encoder serves many
// bodies, one after the other.
//
//   encoder.begin();
//   encoder.encode("first piece", ContentEncoder::Then::kMore, output);
//   encoder.encode("last piece", ContentEncoder::Then::kEnd, output);
//
// Memory: gzip uses 260 KiB, from the constructor on. zstd at its default level uses 1.3 MiB for a body of unknown
// length, from the first body on, and less for a body that is known to be small. The zstd window is 128 KiB at most,
// far below the 8 MiB that every client must support (RFC 9659). No I/O; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/content/content_coding.h>

namespace peal {

struct ContentEncoderOptions {
  // The compression level of gzip, 1 (fast) to 9. For source text, level 5 needs less than half of the time of level 9,
  // 35 ms for a MiB. Its result is at most 3 % longer.
  int gzip_level = 5;

  // The compression level of zstd, 1 (fast) to 19. Level 3 needs a fifth of the time of gzip at level 5, and its result
  // is at most 8 % longer. Level 5 compresses more tightly than gzip at level 5.
  int zstd_level = 3;

  bool operator==(const ContentEncoderOptions&) const = default;
};

class ContentEncoder {
 public:
  // Says what encode() does after it has read all of its bytes.
  enum class Then : uint8_t {
    kMore,   // the encoder may keep the bytes until more arrive
    kFlush,  // writes all encoded bytes, so that the peer can decode the body so far; costs a few extra bytes
    kEnd,    // ends the body
  };

  // `coding` must be kGzip or kZstd. Throws std::invalid_argument for kIdentity and for a gzip level that zlib does not
  // accept. libzstd replaces a zstd level outside its range by the nearest valid level. Throws std::bad_alloc if zlib
  // or libzstd gets no memory.
  ContentEncoder(ContentCoding coding, const ContentEncoderOptions& options);
  ~ContentEncoder();
  ContentEncoder(const ContentEncoder&) = delete;
  ContentEncoder& operator=(const ContentEncoder&) = delete;

  // Begins a body. Call begin() before each body; a body that was not finished is dropped. `total_bytes` is the exact
  // length of the body if the caller knows it. zstd writes the length into the frame. If encode() then receives another
  // number of bytes, an assertion may fail. gzip ignores `total_bytes`.
  void begin(std::optional<uint64_t> total_bytes = std::nullopt);

  // Encodes `bytes` and appends the encoded bytes to `output`. Throws std::bad_alloc if libzstd gets no memory.
  void encode(std::string_view bytes, Then then, Buffer& output);

  ContentCoding coding() const { return coding_; }
  const ContentEncoderOptions& options() const { return options_; }

 private:
  class Codec;
  class GzipCodec;
  class ZstdCodec;

  const ContentCoding coding_;
  const ContentEncoderOptions options_;
  std::unique_ptr<Codec> codec_;
};

}  // namespace peal
