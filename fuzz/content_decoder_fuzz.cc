// SPDX-License-Identifier: BSD-3-Clause
// Bodies in gzip and zstd. What a decoder returns must not depend on how the input is cut into pieces, nor on how much
// room a call gets. It must stay within its limits. The first byte of an input chooses the coding, the second byte
// chooses the length of the pieces.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/assert.h>
#include <peal/wire/content/content_decoder.h>

namespace peal {
namespace {

constexpr ContentDecoderLimits kLimits{
    .decoded_bytes = 200'000, .ratio = 100, .ratio_free_bytes = 50'000, .zstd_window_bytes = 64 * 1024};

struct Verdict {
  std::string bytes;
  bool whole = false;
  std::optional<ContentDecodeError> error;
};

Verdict read(ContentCoding coding, std::string_view input, size_t piece_bytes, size_t room_bytes) {
  Verdict verdict;
  ContentDecoder decoder(coding, kLimits);
  while (!input.empty() && !verdict.error) {
    const std::string piece(input.substr(0, piece_bytes));  // a copy, so the sanitizer finds reads beyond its end
    input.remove_prefix(piece.size());
    std::string_view left = piece;
    for (;;) {
      std::vector<std::byte> room(room_bytes);
      const auto made = decoder.decode(left, room);
      if (!made) verdict.error = made.error();
      if (!made || *made == 0) break;
      PEAL_ASSERT(*made <= room_bytes, "{} bytes were written into room for {}", *made, room_bytes);
      verdict.bytes.append(reinterpret_cast<const char*>(room.data()), *made);
    }
    PEAL_ASSERT(verdict.error || left.empty(), "{} bytes of a piece were not taken", left.size());
  }
  verdict.whole = decoder.is_whole();
  PEAL_ASSERT(verdict.bytes.size() <= kLimits.decoded_bytes, "{} decoded bytes are over the limit",
              verdict.bytes.size());
  return verdict;
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const peal::ContentCoding coding = (data[0] & 1) != 0 ? peal::ContentCoding::kZstd : peal::ContentCoding::kGzip;
  const peal::Verdict whole = peal::read(coding, input, input.size() + 1, 4096);
  const peal::Verdict cut = peal::read(coding, input, size_t{data[1]} + 1, 1024);
  // If a body is malformed, the number of bytes before the error may differ.
  PEAL_ASSERT(whole.error.has_value() == cut.error.has_value() && whole.whole == cut.whole,
              "pieces of {} bytes end differently", data[1] + 1);
  PEAL_ASSERT(whole.error || whole.bytes == cut.bytes, "pieces of {} bytes are decoded differently", data[1] + 1);
  return 0;
}
