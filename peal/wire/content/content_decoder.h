// SPDX-License-Identifier: BSD-3-Clause
// ContentDecoder: takes bytes out of gzip (RFC 1952, by zlib) or zstd (RFC 8878, by libzstd) as they come, into room
// that the caller gives: it never makes more at once than that, whatever a few bytes stand for.
//
//   while (true) {
//     auto made = decoder.decode(coded, room);   // takes from the front of `coded`
//     if (!made) ...                             // broken, or beyond a limit
//     if (*made == 0) break;                     // it wants more bytes
//     use(room.first(*made));
//   }
//   ... and when no more come: decoder.is_whole()
//
// Several gzip members and several zstd frames, skippable ones too, are one body (RFC 1952 2.2, RFC 8878 3.1). Whatever
// else stands behind the last one is an error. No bytes at all are an empty body: servers send that.
//
// Memory: gzip 40 KiB; zstd 130 KiB, and from a frame's head on as much as that asks for, at most zstd_window_bytes and
// some 400 KiB. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include <peal/wire/content/content_coding.h>

namespace peal {

// What a peer can have made of a few bytes. Beyond one of them: ContentDecodeError::kTooLong.
struct ContentDecoderLimits {
  // Of the decoded body. 0: any number; then somebody else has to count.
  uint64_t decoded_bytes = 0;
  // Decoded bytes for each coded one, looked at once `ratio_free_bytes` are decoded: a small body of nothing but blanks
  // is no attack. gzip cannot exceed 1,032; zstd can come to 30,000, which of honest bodies only empty disks do. 0:
  // any.
  uint32_t ratio = 1100;
  uint64_t ratio_free_bytes = 16 * 1024 * 1024;
  // What a zstd frame may ask for; a power of two, at least 1 KiB, or std::invalid_argument. Nothing that is sent as
  // Content-Encoding needs more (RFC 9659 3).
  uint32_t zstd_window_bytes = 8 * 1024 * 1024;
};

enum class ContentDecodeError : uint8_t {
  kBroken,   // what came is not in that coding
  kTooLong,  // ContentDecoderLimits
};

class ContentDecoder {
 public:
  // kGzip or kZstd, or std::invalid_argument. Throws std::bad_alloc, and so does decode().
  explicit ContentDecoder(ContentCoding coding, const ContentDecoderLimits& limits = {});
  ~ContentDecoder();
  ContentDecoder(const ContentDecoder&) = delete;
  ContentDecoder& operator=(const ContentDecoder&) = delete;

  // Takes bytes from the front and writes what they become to the front of `room`, which is not empty; how many that
  // are. When `room` was filled there may be more without any bytes. After an error it stays so.
  std::expected<size_t, ContentDecodeError> decode(std::string_view& bytes, std::span<std::byte> room);
  // Whether what has come may be all: it ends where a member or a frame does.
  bool is_whole() const { return !inside_ && !failed_; }

  ContentCoding coding() const { return coding_; }
  // Taken and made so far.
  uint64_t coded_bytes() const { return coded_bytes_; }
  uint64_t decoded_bytes() const { return decoded_bytes_; }

 private:
  class Codec;
  class GzipCodec;
  class ZstdCodec;

  bool is_beyond_limits() const;

  const ContentCoding coding_;
  const ContentDecoderLimits limits_;
  std::unique_ptr<Codec> codec_;
  uint64_t coded_bytes_ = 0;
  uint64_t decoded_bytes_ = 0;
  bool inside_ = false;          // a member or frame
  bool output_pending_ = false;  // the last room was filled: there may be more
  bool failed_ = false;
  ContentDecodeError error_ = ContentDecodeError::kBroken;  // if so
};

}  // namespace peal
