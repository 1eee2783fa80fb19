// SPDX-License-Identifier: BSD-3-Clause
// ContentEncoder: puts bytes into gzip (RFC 1952, by zlib) or zstd (RFC 8878, by libzstd), one body after the other.
//
// Memory, from the first body on: gzip 260 KiB; zstd at its default level 1.3 MiB for a stream of unknown length, less
// for a body that is known to be small. Its window is bounded at 128 KiB, far below what a client must be able to hold
// (8 MiB: RFC 9659). Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/content/content_coding.h>

namespace peal {

struct ContentEncoderOptions {
  // 1 (fast) to 9. 5 packs source text within 3 % of what 9 does, in less than half of its time: 35 ms for a MiB.
  int gzip_level = 5;
  // 1 (fast) to 19. 3 comes within 8 % of gzip's 5 in a fifth of its time; 5 packs tighter than gzip does.
  int zstd_level = 3;

  bool operator==(const ContentEncoderOptions&) const = default;
};

class ContentEncoder {
 public:
  // What becomes of bytes that were encoded.
  enum class Then : uint8_t {
    kMore,   // they may stay inside until more come
    kFlush,  // the other side can decode all there is so far, for a few bytes more
    kEnd,    // the body is complete
  };

  // kGzip or kZstd, and a level of it, or std::invalid_argument. Throws std::bad_alloc too.
  ContentEncoder(ContentCoding coding, const ContentEncoderOptions& options);
  ~ContentEncoder();
  ContentEncoder(const ContentEncoder&) = delete;
  ContentEncoder& operator=(const ContentEncoder&) = delete;

  // Before each body, however the one before ended. `total_bytes`: exactly so many will come.
  void begin(std::optional<uint64_t> total_bytes = std::nullopt);
  // Appends what the bytes become to `output`.
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
