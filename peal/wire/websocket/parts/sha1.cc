// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/parts/sha1.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/framing/integer_bytes.h>

namespace peal::detail {
namespace {

constexpr size_t kSha1BlockBytes = 64;

// Returns the sum of the logical function and the constant of a round (FIPS 180-4 4.1.1 and 4.2.1).
uint32_t sha1_round(size_t round, uint32_t b, uint32_t c, uint32_t d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

void sha1_block(std::array<uint32_t, 5>& state, const char* block) {
  std::array<uint32_t, 80> words;
  for (size_t at = 0; at < 16; ++at) words[at] = peek_integer<4>(std::string_view(block + 4 * at, 4)).value_or(0);
  for (size_t at = 16; at < 80; ++at) {
    words[at] = std::rotl(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (size_t round = 0; round < 80; ++round) {
    const uint32_t next = std::rotl(a, 5) + sha1_round(round, b, c, d) + e + words[round];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

Sha1Digest sha1(std::string_view bytes) {
  // The padding is a 1 bit, zeros, and the length in bits; it ends at the end of a block (FIPS 180-4 5.1.1).
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % kSha1BlockBytes != kSha1BlockBytes - 8) padded += '\0';
  append_integer<8>(padded, uint64_t{bytes.size()} * 8);

  std::array<uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t at = 0; at < padded.size(); at += kSha1BlockBytes) sha1_block(state, padded.data() + at);
  Sha1Digest digest;
  for (size_t at = 0; at < digest.size(); ++at) digest[at] = static_cast<char>(state[at / 4] >> (24 - 8 * (at % 4)));
  return digest;
}

}  // namespace peal::detail
