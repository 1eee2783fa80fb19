// SPDX-License-Identifier: BSD-3-Clause
// What a SealedPort and its peers say to each other. Both send a byte when they meet. Then come records, a length in
// four bytes, the most significant first, and so many bytes with their bits turned; a record of none is the end mark.
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

// What a peer has done that does not seal; a value of a category of its own.
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

// By words: byte by byte is slow where every access is checked.
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

// Takes the records that are whole out of `sealed` and appends what they hold; stops behind the end mark. True: it was
// there.
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
