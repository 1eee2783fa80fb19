// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_decoder.h>

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include <zstd_errors.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>

namespace peal {

// Decodes one coding with zlib or libzstd. The limits are checked by ContentDecoder and not by the Codec.
class ContentDecoder::Codec {
 public:
  enum class Step : uint8_t {
    kInside,  // the member or frame is not complete
    kAtEnd,   // a member or frame ended
    kBroken,  // the bytes are malformed
  };

  virtual ~Codec() = default;

  // Decodes bytes from the front of `bytes` into the front of `room`. Shortens `bytes` to the bytes that are not read
  // yet, and `room` to the space that is still free. Stops at the end of a member or frame; the next call begins the
  // next one.
  virtual Step step(std::string_view& bytes, std::span<std::byte>& room) = 0;
};

class ContentDecoder::GzipCodec final : public Codec {
 public:
  GzipCodec() {
    // The largest window has 2^15 bytes. The added 16 makes zlib read and check the header and the trailer of gzip.
    constexpr int kGzipWindowBits = 15 + 16;
    const int answer = ::inflateInit2(&z_, kGzipWindowBits);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    PEAL_ASSERT(answer == Z_OK, "zlib's inflateInit2() returned {}", answer);
  }
  ~GzipCodec() override { ::inflateEnd(&z_); }
  GzipCodec(const GzipCodec&) = delete;
  GzipCodec& operator=(const GzipCodec&) = delete;

  Step step(std::string_view& bytes, std::span<std::byte>& room) override {
    constexpr size_t kMostAtOnce = 1 << 30;  // zlib counts bytes in 32 bits
    const size_t given = std::min(bytes.size(), kMostAtOnce);
    const size_t space = std::min(room.size(), kMostAtOnce);
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z_.avail_in = static_cast<uInt>(given);
    z_.next_out = reinterpret_cast<Bytef*>(room.data());
    z_.avail_out = static_cast<uInt>(space);
    const int answer = ::inflate(&z_, Z_NO_FLUSH);
    bytes.remove_prefix(given - z_.avail_in);
    room = room.subspan(space - z_.avail_out);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    // Z_BUF_ERROR is no error here: inflate() could neither read nor write a byte.
    if (answer == Z_OK || answer == Z_BUF_ERROR) return Step::kInside;
    if (answer != Z_STREAM_END) return Step::kBroken;
    ::inflateReset(&z_);
    return Step::kAtEnd;
  }

 private:
  z_stream z_{};
};

class ContentDecoder::ZstdCodec final : public Codec {
 public:
  explicit ZstdCodec(uint32_t window_bytes) : context_(::ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    const size_t answer =
        ::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, static_cast<int>(std::countr_zero(window_bytes)));
    PEAL_ASSERT(::ZSTD_isError(answer) == 0, "libzstd refuses a window of {} bytes: {}", window_bytes,
                ::ZSTD_getErrorName(answer));
  }
  ~ZstdCodec() override { ::ZSTD_freeDCtx(context_); }
  ZstdCodec(const ZstdCodec&) = delete;
  ZstdCodec& operator=(const ZstdCodec&) = delete;

  // Collects and checks the first four bytes of a frame before libzstd sees them. A libzstd may also decode the formats
  // older than RFC 8878, whose decoders are no longer maintained, so step() refuses those formats. libzstd receives the
  // four bytes in one piece, because it recognizes a format only that way.
  Step step(std::string_view& bytes, std::span<std::byte>& room) override {
    if (magic_bytes_ < magic_.size()) {
      const size_t taken = bytes.copy(magic_.data() + magic_bytes_, magic_.size() - magic_bytes_);
      bytes.remove_prefix(taken);
      magic_bytes_ += taken;
      if (magic_bytes_ < magic_.size()) return Step::kInside;
      std::string_view magic(magic_.data(), magic_.size());
      if (!begins_frame(magic) || run(magic, room) != Step::kInside) return Step::kBroken;
      if (bytes.empty()) return Step::kInside;
    }
    const Step done = run(bytes, room);
    if (done == Step::kAtEnd) magic_bytes_ = 0;
    return done;
  }

 private:
  // True if these four bytes begin a zstd frame (RFC 8878 3.1.1) or a skippable frame (RFC 8878 3.1.2).
  static bool begins_frame(std::string_view magic) {
    using namespace std::literals;
    return magic == "\x28\xb5\x2f\xfd"sv || ((magic[0] & 0xf0) == 0x50 && magic.substr(1) == "\x2a\x4d\x18"sv);
  }

  // Decodes like step(), but passes all bytes to libzstd without a check of the first four bytes of a frame.
  Step run(std::string_view& bytes, std::span<std::byte>& room) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const size_t left = ::ZSTD_decompressStream(context_, &out, &in);
    bytes.remove_prefix(in.pos);
    room = room.subspan(out.pos);
    if (::ZSTD_isError(left) != 0) {
      if (::ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
      return Step::kBroken;
    }
    return left == 0 ? Step::kAtEnd : Step::kInside;
  }

  ZSTD_DCtx* const context_;
  std::array<char, 4> magic_;  // the first bytes of the current frame
  size_t magic_bytes_ = 0;     // how many bytes of magic_ have arrived
};

ContentDecoder::ContentDecoder(ContentCoding coding, const ContentDecoderLimits& limits)
    : coding_(coding), limits_(limits) {
  constexpr uint32_t kLeastWindowBytes = 1024;
  if (coding == ContentCoding::kIdentity)
    throw_bad_value("ContentDecoder decodes gzip and zstd; a body in identity needs no decoder");
  if (!std::has_single_bit(limits.zstd_window_bytes) || limits.zstd_window_bytes < kLeastWindowBytes) {
    throw_bad_value("zstd_window_bytes is {}; it must be a power of two of at least {}", limits.zstd_window_bytes,
                    kLeastWindowBytes);
  }
  if (coding == ContentCoding::kGzip) {
    codec_ = std::make_unique<GzipCodec>();
  } else {
    codec_ = std::make_unique<ZstdCodec>(limits.zstd_window_bytes);
  }
}
ContentDecoder::~ContentDecoder() = default;

bool ContentDecoder::is_beyond_limits() const {
  if (limits_.decoded_bytes != 0 && decoded_bytes_ > limits_.decoded_bytes) return true;
  return limits_.ratio != 0 && decoded_bytes_ > limits_.ratio_free_bytes &&
         decoded_bytes_ / limits_.ratio > coded_bytes_;
}

std::expected<size_t, ContentDecodeError> ContentDecoder::decode(std::string_view& bytes, std::span<std::byte> room) {
  PEAL_ASSERT(!room.empty(), "decode() of {} bytes was given an empty room", bytes.size());
  std::span<std::byte> left = room;
  while (!failed_ && !left.empty() && (output_pending_ || !bytes.empty())) {
    const size_t bytes_before = bytes.size();
    const size_t room_before = left.size();
    const Codec::Step step = codec_->step(bytes, left);
    coded_bytes_ += bytes_before - bytes.size();
    decoded_bytes_ += room_before - left.size();
    inside_ = step != Codec::Step::kAtEnd;
    output_pending_ = inside_ && left.empty();
    failed_ = step == Codec::Step::kBroken;
    if (!failed_ && is_beyond_limits()) {
      failed_ = true;
      error_ = ContentDecodeError::kTooLong;
    }
  }
  if (failed_) return std::unexpected(error_);
  return room.size() - left.size();
}

}  // namespace peal
