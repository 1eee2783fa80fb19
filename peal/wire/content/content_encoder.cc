// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_encoder.h>

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <span>

#include <zstd_errors.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>

namespace peal {

// Encodes bodies in one coding with zlib or libzstd.
class ContentEncoder::Codec {
 public:
  virtual ~Codec() = default;
  virtual void begin(std::optional<uint64_t> total_bytes) = 0;

  // Encodes bytes from the front of `bytes` into the front of `room`. Shortens `bytes` to the bytes that are not read
  // yet, and `room` to the space that is still free. Returns true if all bytes are read and everything that `then` asks
  // for is written. If the result is false, the caller must call step() again with more room.
  virtual bool step(std::string_view& bytes, Then then, std::span<std::byte>& room) = 0;
};

class ContentEncoder::GzipCodec final : public Codec {
 public:
  explicit GzipCodec(int level) {
    // The largest window has 2^15 bytes. The added 16 makes zlib write the header and the trailer of gzip.
    constexpr int kGzipWindowBits = 15 + 16;
    constexpr int kMemoryLevel = 8;
    const int answer = ::deflateInit2(&z_, level, Z_DEFLATED, kGzipWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    if (answer != Z_OK) throw_bad_value("gzip_level is {}; it must be 1 (fast) to 9", level);
  }
  ~GzipCodec() override { ::deflateEnd(&z_); }
  GzipCodec(const GzipCodec&) = delete;
  GzipCodec& operator=(const GzipCodec&) = delete;

  void begin(std::optional<uint64_t>) override { ::deflateReset(&z_); }

  bool step(std::string_view& bytes, Then then, std::span<std::byte>& room) override {
    constexpr size_t kMostAtOnce = 1 << 30;  // zlib counts bytes in 32 bits
    const std::string_view piece = bytes.substr(0, kMostAtOnce);
    const bool last = piece.size() == bytes.size();
    const int flush = !last || then == Then::kMore ? Z_NO_FLUSH : then == Then::kFlush ? Z_SYNC_FLUSH : Z_FINISH;
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    z_.avail_in = static_cast<uInt>(piece.size());
    z_.next_out = reinterpret_cast<Bytef*>(room.data());
    z_.avail_out = static_cast<uInt>(room.size());
    const int answer = ::deflate(&z_, flush);
    // Z_BUF_ERROR is no error here: deflate() could neither read nor write a byte.
    PEAL_ASSERT(answer == Z_OK || answer == Z_STREAM_END || answer == Z_BUF_ERROR, "zlib's deflate() returned {}",
                answer);
    bytes.remove_prefix(piece.size() - z_.avail_in);
    room = room.last(z_.avail_out);
    if (then == Then::kEnd) return answer == Z_STREAM_END;
    return bytes.empty() && z_.avail_out > 0;
  }

 private:
  z_stream z_{};
};

class ContentEncoder::ZstdCodec final : public Codec {
 public:
  explicit ZstdCodec(int level) : context_(::ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    constexpr int kWindowLog = 17;  // 128 KiB
    set(ZSTD_c_compressionLevel, level);
    set(ZSTD_c_windowLog, kWindowLog);
  }
  ~ZstdCodec() override { ::ZSTD_freeCCtx(context_); }
  ZstdCodec(const ZstdCodec&) = delete;
  ZstdCodec& operator=(const ZstdCodec&) = delete;

  void begin(std::optional<uint64_t> total_bytes) override {
    ::ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
    ::ZSTD_CCtx_setPledgedSrcSize(context_, total_bytes.value_or(ZSTD_CONTENTSIZE_UNKNOWN));
  }

  bool step(std::string_view& bytes, Then then, std::span<std::byte>& room) override {
    const ZSTD_EndDirective how = then == Then::kMore    ? ZSTD_e_continue
                                  : then == Then::kFlush ? ZSTD_e_flush
                                                         : ZSTD_e_end;
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const size_t left = ::ZSTD_compressStream2(context_, &out, &in, how);
    if (::ZSTD_isError(left) != 0) {
      PEAL_ASSERT(::ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation, "libzstd failed to compress: {}",
                  ::ZSTD_getErrorName(left));
      throw std::bad_alloc();
    }
    bytes.remove_prefix(in.pos);
    room = room.subspan(out.pos);
    return bytes.empty() && (then == Then::kMore || left == 0);
  }

 private:
  void set(ZSTD_cParameter parameter, int value) {
    const size_t answer = ::ZSTD_CCtx_setParameter(context_, parameter, value);
    PEAL_ASSERT(::ZSTD_isError(answer) == 0, "libzstd refuses parameter {} = {}: {}", static_cast<int>(parameter),
                value, ::ZSTD_getErrorName(answer));
  }

  ZSTD_CCtx* const context_;
};

ContentEncoder::ContentEncoder(ContentCoding coding, const ContentEncoderOptions& options)
    : coding_(coding), options_(options) {
  if (coding == ContentCoding::kIdentity)
    throw_bad_value("ContentEncoder encodes gzip and zstd; a body in identity needs no encoder");
  if (coding == ContentCoding::kGzip) {
    codec_ = std::make_unique<GzipCodec>(options.gzip_level);
  } else {
    codec_ = std::make_unique<ZstdCodec>(options.zstd_level);
  }
}
ContentEncoder::~ContentEncoder() = default;

void ContentEncoder::begin(std::optional<uint64_t> total_bytes) { codec_->begin(total_bytes); }

void ContentEncoder::encode(std::string_view bytes, Then then, Buffer& output) {
  constexpr size_t kOverheadBytes = 128;  // room for the head, the tail and a flush
  for (bool done = false; !done;) {
    const std::span<std::byte> room = output.prepare(std::min<size_t>(bytes.size() + kOverheadBytes, kLargeBlockBytes));
    std::span<std::byte> left = room;
    done = codec_->step(bytes, then, left);
    output.commit(room.size() - left.size());
  }
}

}  // namespace peal
