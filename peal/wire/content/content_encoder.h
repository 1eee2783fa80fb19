// SPDX-License-Identifier: BSD-3-Clause
// ContentEncoder: encodes bodies in gzip (RFC 1952, by zlib) or zstd (RFC 8878, by libzstd). One encoder serves many
// bodies, one after the other.
//
//   encoder.begin();
//   encoder.encode("first piece", ContentEncoder::Then::kMore, output);
//   encoder.encode("last piece", ContentEncoder::Then::kEnd, output);
//
// Memory, from the first body on: gzip uses 260 KiB. zstd at its default level uses 1.3 MiB for a body of unknown
// length, and less for a body that is known to be small. The zstd window is 128 KiB at most, far below the 8 MiB that
// every client must support (RFC 9659). No I/O; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/content/content_coding.h>

namespace peal {

struct ContentEncoderOptions {
  // 1 (fast) to 9. Level 5 compresses source text to within 3 % of level 9 in less than half of the time, 35 ms for a
  // MiB.
  int gzip_level = 5;

  // 1 (fast) to 19. Level 3 comes within 8 % of gzip's level 5 in a fifth of the time. Level 5 compresses more tightly
  // than gzip.
  int zstd_level = 3;

  bool operator==(const ContentEncoderOptions&) const = default;
};

class ContentEncoder {
 public:
  // Says what encode() does after it has taken its bytes.
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
  // length of the body if that is known. zstd writes the length into the frame, and encoding another number of bytes
  // may fail an assertion. gzip ignores `total_bytes`.
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
