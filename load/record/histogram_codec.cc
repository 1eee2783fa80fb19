// SPDX-License-Identifier: BSD-3-Clause
// Encoding never fails. Decoding does not trust its input: it first decompresses only the header, which limits how much
// more is decompressed.
#include <load/record/histogram_codec.h>

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include <peal/base/assert.h>
#include <peal/wire/base64.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal {
namespace {

// A cookie is the number at the start of a header. The cookie identifies the format. Bits 4 to 7 of a cookie say how
// the counts are stored. Encoding gives these bits the value 1, which means LEB128. Decoding ignores these bits,
// because the V2 format always stores the counts as LEB128. kCookieMask removes these bits before two cookies are
// compared.
constexpr std::uint32_t kPayloadCookie = 0x1c849313;
constexpr std::uint32_t kCompressedCookie = 0x1c849314;
constexpr std::uint32_t kCookieMask = ~std::uint32_t{0xf0};
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kMaxNumberBytes = 9;

// Appends the number to `out` in the encoding ZigZag LEB128. Each byte holds seven bits of the number, the lowest bits
// first. If the number needs a ninth byte, that byte holds eight bits.
void put_number(std::string& out, std::int64_t number) {
  auto bits = static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
  for (std::size_t i = 1; i < kMaxNumberBytes && bits > 127; ++i, bits >>= 7) {
    out += static_cast<char>((bits & 127) | 128);
  }
  out += static_cast<char>(bits);
}

std::optional<std::int64_t> take_number(std::string_view& in) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min(in.size(), kMaxNumberBytes); ++i) {
    const auto byte = static_cast<std::uint8_t>(in[i]);
    const bool last = i + 1 == kMaxNumberBytes || byte < 128;
    bits |= std::uint64_t{i + 1 == kMaxNumberBytes ? byte : byte & 127u} << (7 * i);
    if (!last) continue;
    in.remove_prefix(i + 1);
    return static_cast<std::int64_t>(bits >> 1 ^ (0 - (bits & 1)));
  }
  return std::nullopt;
}

void put_counts(std::string& out, const Histogram& histogram) {
  std::uint64_t left = histogram.total_count();
  std::int64_t zeros = 0;
  for (std::size_t i = 0; left > 0; ++i) {
    const std::uint64_t count = histogram.counts()[i];
    if (count == 0) {
      ++zeros;
      continue;
    }
    if (zeros > 0) put_number(out, -zeros);
    zeros = 0;
    put_number(out, static_cast<std::int64_t>(count));
    left -= count;
  }
}

// Parses a header of 40 bytes. Returns the range and the precision of the histogram. Stores in `body_bytes` how many
// bytes follow the header. Returns std::nullopt if the format is wrong, or if no Histogram can have this range and
// precision. The function first checks the length of the header. After that, read_integer() cannot fail, so the default
// in value_or(0) is never used.
std::optional<HistogramOptions> parse_header(std::string_view header, std::uint32_t& body_bytes) {
  if (header.size() < kHeaderBytes) return std::nullopt;
  const auto cookie = read_integer<4>(header).value_or(0);
  body_bytes = read_integer<4>(header).value_or(0);
  const auto shifted_by = read_integer<4>(header).value_or(0);
  const auto digits = read_integer<4>(header).value_or(0);
  const auto lowest = read_integer<8>(header).value_or(0);
  const auto highest = read_integer<8>(header).value_or(0);
  const auto scale = std::bit_cast<double>(read_integer<8>(header).value_or(0));
  if ((cookie & kCookieMask) != (kPayloadCookie & kCookieMask) || shifted_by != 0 || scale != 1.0) return std::nullopt;
  const HistogramOptions options{.lowest = static_cast<std::int64_t>(lowest),
                                 .highest = static_cast<std::int64_t>(highest),
                                 .significant_digits = static_cast<int>(digits)};
  if (!options.valid()) return std::nullopt;
  return options;
}

Result<Histogram> parse_body(std::string_view body, Histogram histogram) {
  std::size_t index = 0;
  while (!body.empty()) {
    const std::optional<std::int64_t> number = take_number(body);
    if (!number) return fail(Trouble::kBadHistogram);
    const std::size_t left = histogram.counts().size() - index;
    if (*number < 0) {
      if (*number < -static_cast<std::int64_t>(left)) return fail(Trouble::kBadHistogram);
      index += static_cast<std::size_t>(-*number);
      continue;
    }
    if (left == 0) return fail(Trouble::kBadHistogram);
    const auto count = static_cast<std::uint64_t>(*number);
    if (!histogram.add_at(index++, count)) return fail(Trouble::kBadHistogram);
  }
  return histogram;
}

class Inflater {
 public:
  explicit Inflater(std::string_view in) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    const int status = ::inflateInit(&stream_);
    PEAL_ASSERT(status == Z_OK, "inflateInit() returned {}", status);
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Decompresses exactly `size` bytes and appends them to `out`. Returns false if the compressed data is damaged, or if
  // it ends before `size` bytes are decompressed.
  bool read(std::string& out, std::size_t size) {
    // The largest number of bytes that are decompressed in one step. `out` grows by one step at a time, and not to its
    // full size at the start. Damaged data may announce a `size` that is far too large. This function then fails before
    // it has allocated that much memory.
    constexpr std::size_t kStep = 65536;
    while (size > 0) {
      const std::size_t step = std::min(size, kStep);
      const std::size_t before = out.size();
      out.resize(before + step);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = static_cast<uInt>(step);
      status_ = ::inflate(&stream_, Z_SYNC_FLUSH);
      if (stream_.avail_out != 0) return false;
      size -= step;
    }
    return true;
  }
  // Returns true if the compressed data ends here and its checksum is correct. Returns false in all other cases:
  // - More bytes can be decompressed.
  // - The checksum is wrong or missing.
  // - Other bytes follow the compressed data.
  bool finished() {
    Bytef extra;
    stream_.next_out = &extra;
    stream_.avail_out = 1;
    if (status_ != Z_STREAM_END) status_ = ::inflate(&stream_, Z_SYNC_FLUSH);
    return status_ == Z_STREAM_END && stream_.avail_out == 1 && stream_.avail_in == 0;
  }

 private:
  z_stream stream_{};
  int status_ = Z_OK;
};

}  // namespace

std::string encode_histogram_payload(const Histogram& histogram) {
  std::string body;
  put_counts(body, histogram);
  std::string payload;
  payload.reserve(kHeaderBytes + body.size());
  append_integer<4>(payload, kPayloadCookie);
  append_integer<4>(payload, body.size());
  append_integer<4>(payload, 0);  // shift of the counts; always 0, because only scaled histograms are shifted
  append_integer<4>(payload, static_cast<std::uint32_t>(histogram.options().significant_digits));
  append_integer<8>(payload, static_cast<std::uint64_t>(histogram.options().lowest));
  append_integer<8>(payload, static_cast<std::uint64_t>(histogram.options().highest));
  // Appends the factor by which all values are scaled. The factor is always 1, because only histograms of
  // floating-point values need another factor.
  append_integer<8>(payload, std::bit_cast<std::uint64_t>(1.0));
  return payload += body;
}

Result<Histogram> decode_histogram_payload(std::string_view payload) {
  std::uint32_t body_bytes = 0;
  const std::optional<HistogramOptions> options = parse_header(payload, body_bytes);
  if (!options || payload.size() - kHeaderBytes != body_bytes) return fail(Trouble::kBadHistogram);
  return parse_body(payload.substr(kHeaderBytes), Histogram(*options));
}

std::string encode_histogram(const Histogram& histogram) {
  const std::string payload = encode_histogram_payload(histogram);
  uLongf size = ::compressBound(payload.size());
  std::string compressed(size, '\0');
  const int status = ::compress(reinterpret_cast<Bytef*>(compressed.data()), &size,
                                reinterpret_cast<const Bytef*>(payload.data()), payload.size());
  PEAL_ASSERT(status == Z_OK, "compress() returned {} for {} bytes", status, payload.size());
  std::string message;
  append_integer<4>(message, kCompressedCookie);
  append_integer<4>(message, size);
  return base64_encode(message.append(compressed, 0, size));
}

Result<Histogram> decode_histogram(std::string_view text) {
  constexpr std::size_t kEnvelopeBytes = 8;
  const std::optional<std::string> message = base64_decode(text);
  if (!message || message->size() < kEnvelopeBytes) return fail(Trouble::kBadHistogram);
  std::string_view rest = *message;
  const auto cookie = read_integer<4>(rest).value_or(0);
  const auto size = read_integer<4>(rest).value_or(0);
  if ((cookie & kCookieMask) != (kCompressedCookie & kCookieMask) || size != rest.size()) {
    return fail(Trouble::kBadHistogram);
  }
  Inflater inflater(rest);
  std::string header, body;
  if (!inflater.read(header, kHeaderBytes)) return fail(Trouble::kBadHistogram);
  std::uint32_t body_bytes = 0;
  const std::optional<HistogramOptions> options = parse_header(header, body_bytes);
  if (!options) return fail(Trouble::kBadHistogram);
  Histogram histogram(*options);
  if (body_bytes > kMaxNumberBytes * histogram.counts().size()) return fail(Trouble::kBadHistogram);
  if (!inflater.read(body, body_bytes) || !inflater.finished()) return fail(Trouble::kBadHistogram);
  return parse_body(body, std::move(histogram));
}

}  // namespace peal
