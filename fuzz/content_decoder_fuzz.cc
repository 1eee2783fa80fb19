// SPDX-License-Identifier: BSD-3-Clause
// Bodies in gzip and zstd: what a decoder makes of them must not depend on how they were cut or on how much room there
// was, and stays within its limits. The first byte of an input says which coding, the second how long pieces are.
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
    const std::string piece(input.substr(0, piece_bytes));  // in memory of its own, which the sanitizer guards
    input.remove_prefix(piece.size());
    std::string_view left = piece;
    for (;;) {
      std::vector<std::byte> room(room_bytes);
      const auto made = decoder.decode(left, room);
      if (!made) verdict.error = made.error();
      if (!made || *made == 0) break;
      PEAL_ASSERT(*made <= room_bytes, "{} bytes in room for {}", *made, room_bytes);
      verdict.bytes.append(reinterpret_cast<const char*>(room.data()), *made);
    }
    PEAL_ASSERT(verdict.error || left.empty(), "{} bytes are left", left.size());
  }
  verdict.whole = decoder.is_whole();
  PEAL_ASSERT(verdict.bytes.size() <= kLimits.decoded_bytes, "{} bytes", verdict.bytes.size());
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
  // How far a body that breaks gets before it does may differ.
  PEAL_ASSERT(whole.error.has_value() == cut.error.has_value() && whole.whole == cut.whole, "pieces of {} bytes",
              data[1] + 1);
  PEAL_ASSERT(whole.error || whole.bytes == cut.bytes, "pieces of {} bytes read otherwise", data[1] + 1);
  return 0;
}
