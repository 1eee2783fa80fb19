// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_deflate.h>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/base/memory/memory_charge.h>

namespace peal {
namespace {

// The bytes at the end of each sync flush of zlib. They are not sent with the message (RFC 7692 7.2.1).
constexpr std::string_view kFlushTail("\x00\x00\xff\xff", 4);

// zlib is given room for at least this many decompressed bytes at a time, unless the limit of the message is nearer.
constexpr size_t kLeastOutBytes = 4096;

// The compressed data of a message may end a deflate stream and begin another one, any number of times. An end needs
// only two bytes of the message, but costs the reader two copies of the window. So a message may have kFreeStreamEnds
// ends, and one more for each kBytesPerStreamEnd compressed bytes. inflate() returns kBadDeflate for a message with
// more ends.
constexpr size_t kFreeStreamEnds = 16;
constexpr size_t kBytesPerStreamEnd = 1024;

void check_zlib(int status) {
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  PEAL_ASSERT(status == Z_OK, "zlib returned the error {}", status);
}

void set_input(z_stream& stream, std::string_view bytes) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

void set_output(z_stream& stream, std::string& text, size_t from) {
  stream.next_out = reinterpret_cast<Bytef*>(text.data() + from);
  stream.avail_out = static_cast<uInt>(text.size() - from);
}

void resize_unset(std::string& text, size_t size) {
  text.resize_and_overwrite(size, [](char*, size_t wanted) { return wanted; });
}

}  // namespace

struct WebSocketDeflater::Stream {
  Stream(int level, int window_bits) {
    constexpr int kMemoryLevel = 8;  // zlib's default
    check_zlib(::deflateInit2(&z, level, Z_DEFLATED, -window_bits, kMemoryLevel, Z_DEFAULT_STRATEGY));
  }
  ~Stream() { ::deflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream z{};
};

WebSocketDeflater::WebSocketDeflater(uint8_t window_bits, bool keeps_context, const WebSocketDeflateOptions& options)
    : window_bits_(window_bits), level_(options.level), keeps_context_(keeps_context) {
  if (!can(window_bits) || window_bits > 15 || level_ > 9) {
    throw_bad_value("a window of {} bits at level {}; zlib compresses with 9 to 15 bits at levels 0 to 9", window_bits,
                    level_);
  }
}

WebSocketDeflater::~WebSocketDeflater() = default;

std::string_view WebSocketDeflater::deflate(std::string_view message) {
  if (message.empty() || message.size() > kMostBytes) {
    throw_bad_value("a message of {} bytes to compress; 1 to {} are possible", message.size(), kMostBytes);
  }
  if (stream_ == nullptr) {
    stream_ = std::make_unique<Stream>(level_, window_bits_);
  } else if (!keeps_context_) {
    check_zlib(::deflateReset(&stream_->z));
  }
  z_stream& z = stream_->z;
  set_input(z, message);
  // Nearly always one call of deflate() is enough. The flush is complete only if room is left after it (zlib.h).
  resize_unset(out_, ::deflateBound(&z, message.size()) + 16);
  size_t size = 0;
  for (;;) {
    set_output(z, out_, size);
    check_zlib(::deflate(&z, Z_SYNC_FLUSH));
    size = out_.size() - z.avail_out;
    if (z.avail_out > 0) break;
    resize_unset(out_, out_.size() * 2);
  }
  const std::string_view made(out_.data(), size);
  PEAL_ASSERT(made.ends_with(kFlushTail), "a sync flush of {} bytes that does not end in 00 00 ff ff", size);
  return made.substr(0, size - kFlushTail.size());
}

void WebSocketDeflater::trim() {
  constexpr size_t kKeptBytes = 64 * 1024;
  if (out_.capacity() > kKeptBytes) free_storage(out_);
}

struct WebSocketInflater::Stream {
  explicit Stream(int window_bits) { check_zlib(::inflateInit2(&z, -window_bits)); }
  ~Stream() { ::inflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream z{};
};

WebSocketInflater::WebSocketInflater(uint8_t window_bits, bool keeps_context)
    : window_bits_(window_bits), keeps_context_(keeps_context) {}

WebSocketInflater::~WebSocketInflater() = default;

WebSocketFault WebSocketInflater::inflate(std::string_view compressed, size_t limit_bytes, std::string& message) {
  if (compressed.size() > WebSocketDeflater::kMostBytes) {
    throw_bad_value("{} bytes to decompress; at most {} are possible", compressed.size(),
                    WebSocketDeflater::kMostBytes);
  }
  if (stream_ == nullptr) {
    stream_ = std::make_unique<Stream>(window_bits_);
  } else if (!keeps_context_) {
    check_zlib(::inflateReset(&stream_->z));
  }
  message.clear();
  stream_ends_left_ = kFreeStreamEnds + compressed.size() / kBytesPerStreamEnd;
  if (const WebSocketFault fault = feed(compressed, limit_bytes, message); fault != WebSocketFault::kNone) return fault;
  return feed(kFlushTail, limit_bytes, message);
}

WebSocketFault WebSocketInflater::feed(std::string_view bytes, size_t limit_bytes, std::string& message) {
  z_stream& z = stream_->z;
  set_input(z, bytes);
  for (;;) {
    const size_t had = message.size();
    // There is room for one byte more than the limit, so that a message beyond the limit is recognised.
    const size_t wanted = std::max({kLeastOutBytes, size_t{z.avail_in} * 4, had});
    resize_unset(message, had + std::min(wanted, limit_bytes + 1 - had));
    set_output(z, message, had);
    const int status = ::inflate(&z, Z_SYNC_FLUSH);
    const bool filled = z.avail_out == 0;
    message.resize(message.size() - z.avail_out);
    if (message.size() > limit_bytes) return WebSocketFault::kTooLarge;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END) {
      // A block was marked as the last one of its stream. The bytes after it begin another stream (RFC 7692 7.2.3.5).
      if (stream_ends_left_-- == 0 || !begin_next_stream()) return WebSocketFault::kBadDeflate;
      if (z.avail_in == 0) return WebSocketFault::kNone;
      continue;
    }
    if (status != Z_OK && status != Z_BUF_ERROR) return WebSocketFault::kBadDeflate;
    if (filled) continue;
    return z.avail_in == 0 ? WebSocketFault::kNone : WebSocketFault::kBadDeflate;
  }
}

// Prepares zlib for another stream and keeps the window, because later blocks may refer to it. Returns false if zlib
// does not accept the window.
bool WebSocketInflater::begin_next_stream() {
  std::array<Bytef, 32768> window;
  uInt size = 0;
  z_stream& z = stream_->z;
  check_zlib(::inflateGetDictionary(&z, window.data(), &size));
  check_zlib(::inflateReset(&z));
  return ::inflateSetDictionary(&z, window.data(), size) == Z_OK;
}

}  // namespace peal
