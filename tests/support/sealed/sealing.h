// SPDX-License-Identifier: BSD-3-Clause
// The bytes between a SealedPort and its peers. Each side first sends one byte, the handshake. Records follow. A record
// is a length in four bytes, the most significant byte first, then that many bytes with all bits inverted. A record of
// length 0 is the end mark.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace peal::test {

// The error code if a peer does not begin with the handshake of the sealing layer. Its category is seal_category().
inline constexpr int kNoSealHello = 1;
inline const std::error_category& seal_category() {
  class SealCategory final : public std::error_category {
   public:
    const char* name() const noexcept override { return "seal"; }
    std::string message(int value) const override {
      return value == kNoSealHello ? "the peer does not seal" : "no error of a seal";
    }
  };
  static const SealCategory category;
  return category;
}
inline std::error_code no_seal_hello() { return {kNoSealHello, seal_category()}; }

inline constexpr std::string_view kSealHello = "h";
inline constexpr size_t kMostRecordBytes = 16 * 1024;
inline constexpr std::string_view kEndMark{"\0\0\0\0", 4};

// Appends a copy of `bytes` with all bits inverted. The code inverts eight bytes at a time, because single bytes are
// slow in builds that check every access.
inline void append_turned(std::string_view bytes, std::string& turned) {
  const size_t before = turned.size();
  turned.resize(before + bytes.size());
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const size_t size = std::min(sizeof(uint64_t), bytes.size() - at);
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, size);
    word = ~word;
    std::memcpy(turned.data() + before + at, &word, size);
  }
}

inline void seal(std::string_view bytes, std::string& sealed) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostRecordBytes);
    for (int shift = 24; shift >= 0; shift -= 8) sealed.push_back(static_cast<char>(piece.size() >> shift & 0xff));
    append_turned(piece, sealed);
    bytes.remove_prefix(piece.size());
  }
}

inline std::string sealed_text(std::string_view text) {
  std::string sealed;
  seal(text, sealed);
  return sealed;
}

// Removes the complete records from `sealed` and appends their decoded content to `plain`. Stops after an end mark,
// which is an empty record, and returns true. Returns false if `sealed` contains no end mark.
inline bool unseal(std::string& sealed, std::string& plain) {
  size_t at = 0;
  bool ended = false;
  while (!ended && sealed.size() - at >= 4) {
    size_t size = 0;
    for (size_t i = at; i < at + 4; ++i) size = size << 8 | static_cast<uint8_t>(sealed[i]);
    if (sealed.size() - at - 4 < size) break;
    at += 4;
    append_turned(std::string_view(sealed).substr(at, size), plain);
    at += size;
    ended = size == 0;
  }
  sealed.erase(0, at);
  return ended;
}

}  // namespace peal::test
