// SPDX-License-Identifier: BSD-3-Clause
// ContentDecoder: decodes a body in gzip (RFC 1952, by zlib) or zstd (RFC 8878, by libzstd) as its bytes arrive. The
// caller gives the room for the decoded bytes, and decode() never writes more than that room holds. A few coded bytes
// therefore cannot make the decoder allocate a large body.
//
//   while (true) {
//     auto made = decoder.decode(coded, room);   // removes the bytes it used from the front of `coded`
//     if (!made) ...                             // the body is malformed or exceeds a limit
//     if (*made == 0) break;                     // every coded byte so far is decoded
//     use(room.first(*made));
//   }
//
// After the last bytes of the body have been decoded, decoder.is_whole() tells whether the body was complete.
//
// A body may consist of several gzip members (RFC 1952 2.2), or of several zstd frames, skippable frames included (RFC
// 8878 3.1). Any other bytes after the last member or frame are an error. A body without any bytes counts as complete
// and empty, because some servers send that.
//
// Memory: gzip uses 40 KiB. zstd uses 130 KiB, and after the head of a frame as much as that frame asks for, at most
// zstd_window_bytes plus some 400 KiB. No I/O; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include <peal/wire/content/content_coding.h>

namespace peal {

// Limits that keep a peer from expanding a few bytes to a huge body.
struct ContentDecoderLimits {
  // The largest decoded body, in bytes; a longer body fails with kTooLong. 0 means no limit: the caller then has to
  // count the decoded bytes.
  uint64_t decoded_bytes = 0;

  // The most decoded bytes for each coded byte; a body that exceeds the ratio fails with kTooLong. 0 means no limit.
  // gzip cannot exceed 1,032, so the default never refuses gzip. zstd can reach 30,000, which in practice only attacks
  // and images of empty disks do.
  uint32_t ratio = 1100;

  // The ratio is checked only after this many decoded bytes. A small body with a high ratio, for example one of blanks,
  // is no attack.
  uint64_t ratio_free_bytes = 16 * 1024 * 1024;

  // The largest window that a zstd frame may ask for, in bytes. A frame that asks for more fails with kBroken. The
  // default is the most that a sender may use in Content-Encoding (RFC 9659 3). ContentDecoder throws
  // std::invalid_argument if this is not a power of two of at least 1 KiB.
  uint32_t zstd_window_bytes = 8 * 1024 * 1024;
};

enum class ContentDecodeError : uint8_t {
  kBroken,   // the bytes are not in the coding, or a zstd frame asks for a window above zstd_window_bytes
  kTooLong,  // the decoded body exceeds `decoded_bytes` or `ratio` of ContentDecoderLimits
};

class ContentDecoder {
 public:
  // `coding` must be kGzip or kZstd. Throws std::invalid_argument for kIdentity and for a wrong zstd_window_bytes. The
  // constructor and decode() throw std::bad_alloc if zlib or libzstd gets no memory.
  explicit ContentDecoder(ContentCoding coding, const ContentDecoderLimits& limits = {});
  ~ContentDecoder();
  ContentDecoder(const ContentDecoder&) = delete;
  ContentDecoder& operator=(const ContentDecoder&) = delete;

  // Decodes bytes from the front of `bytes`, removes them there, and writes the decoded bytes to the front of `room`.
  // Returns how many bytes it wrote. `room` must not be empty.
  //
  // If `room` was filled, the decoder may hold more decoded bytes: call decode() again, even if `bytes` is empty. After
  // an error every later call returns that error.
  std::expected<size_t, ContentDecodeError> decode(std::string_view& bytes, std::span<std::byte> room);

  // True if the body may end here: the bytes so far end with a gzip member or a zstd frame, or no bytes have arrived.
  bool is_whole() const { return !inside_ && !failed_; }

  ContentCoding coding() const { return coding_; }

  // coded_bytes() returns how many coded bytes decode() has read so far, and decoded_bytes() how many decoded bytes it
  // has written.
  uint64_t coded_bytes() const { return coded_bytes_; }
  uint64_t decoded_bytes() const { return decoded_bytes_; }

 private:
  class Codec;
  class GzipCodec;
  class ZstdCodec;

  // True if the decoded bytes so far exceed `decoded_bytes` or `ratio`.
  bool is_beyond_limits() const;

  const ContentCoding coding_;
  const ContentDecoderLimits limits_;
  std::unique_ptr<Codec> codec_;
  uint64_t coded_bytes_ = 0;
  uint64_t decoded_bytes_ = 0;
  bool inside_ = false;          // true after the first byte of a member or frame, until its end
  bool output_pending_ = false;  // the last room was filled, so the codec may hold more decoded bytes
  bool failed_ = false;
  ContentDecodeError error_ = ContentDecodeError::kBroken;  // valid if failed_
};

}  // namespace peal
