// SPDX-License-Identifier: BSD-3-Clause
// Functions that find the first byte of a text that is in a ByteClass, or that is not. There are three variants: one
// byte at a time by table (PortableScan), 16 bytes at a time with SSSE3, and 32 bytes at a time with AVX2. scan_kind()
// (scan_kind.h) returns the one to use on this processor.
//
// A parser that calls find_byte() many times is a template with the scan as its parameter. It is compiled once for each
// scan, with the instruction set of that scan:
//   template <class Scan> [[gnu::always_inline]] inline void read(Parser& parser);
//   [[gnu::target("avx2,bmi,bmi2")]] void read_avx2(Parser& parser) { read<Avx2Scan>(parser); }
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/wire/parts/byte_class.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace peal::detail {

// A scan that examines one byte at a time. members() of a scan returns a mask: bit i is set if at[i] is in the class.
struct PortableScan {
  static constexpr size_t kBytes = 1;
  static uint32_t members(const char* at, const ByteClass& bytes) { return bytes.contains(*at) ? 1 : 0; }
};

// Constants for the two vector scans, repeated for both halves of an AVX2 vector. `bits` maps the upper four bits of a
// byte to a bit in a row of a ByteClass. There is no bit for bytes from 0x80 on (obs-text). `half` is a mask for four
// bits of each byte.
struct alignas(32) UpperBits {
  uint8_t bits[32] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8_t half[32] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                      15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
};
inline constexpr UpperBits kUpperBits;

#ifdef __x86_64__
// A scan that examines 16 bytes at a time. The shuffle instruction selects for each byte the row of the ByteClass by
// the lower four bits, and the bit in that row by the upper four. For a byte from 0x80 on it yields 0, so such a byte
// is in no class.
struct Ssse3Scan {
  static constexpr size_t kBytes = 16;
  [[gnu::target("ssse3")]] static uint32_t members(const char* at, const ByteClass& bytes) {
    const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i rows = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.rows.data()));
    const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(kUpperBits.bits));
    const __m128i upper =
        _mm_and_si128(_mm_srli_epi16(data, 4), _mm_load_si128(reinterpret_cast<const __m128i*>(kUpperBits.half)));
    const __m128i found = _mm_and_si128(_mm_shuffle_epi8(rows, data), _mm_shuffle_epi8(bits, upper));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_setzero_si128()))) ^ 0xffff;
  }
};

// A scan that works like Ssse3Scan with 32 bytes at a time.
struct Avx2Scan {
  static constexpr size_t kBytes = 32;
  [[gnu::target("avx2,bmi,bmi2")]] static uint32_t members(const char* at, const ByteClass& bytes) {
    const __m256i data = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i rows = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes.rows.data()));
    const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(kUpperBits.bits));
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(data, 4),
                                           _mm256_load_si256(reinterpret_cast<const __m256i*>(kUpperBits.half)));
    const __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(rows, data), _mm256_shuffle_epi8(bits, upper));
    return ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256())));
  }
};
#endif

// Returns the first byte of [at, end) that is in `bytes` if kInside is true, or that is not in `bytes` if kInside is
// false. Returns `end` if there is none. The Scan::kBytes bytes before `end` must be readable, even those before `at`.
template <class Scan, bool kInside>
[[gnu::always_inline]] inline const char* find_byte(const ByteClass& bytes, const char* at, const char* end) {
  constexpr uint32_t kFlip = kInside ? 0 : static_cast<uint32_t>((uint64_t{1} << Scan::kBytes) - 1);
  const char* const last = end - Scan::kBytes;
  for (; at <= last; at += Scan::kBytes) {
    if (const uint32_t mask = Scan::members(at, bytes) ^ kFlip; mask != 0) return at + std::countr_zero(mask);
  }
  if (at >= end) return end;
  const uint32_t mask = (Scan::members(last, bytes) ^ kFlip) >> (at - last);
  return mask == 0 ? end : at + std::countr_zero(mask);
}

// Returns a mask of the first Scan::kBytes bytes of [at, end). Bit i is set if at[i] is in `bytes` (kInside is true) or
// is not in `bytes` (kInside is false). Bits for bytes from `end` on are 0. The Scan::kBytes bytes before `end` must be
// readable, even those before `at`.
template <class Scan, bool kInside>
[[gnu::always_inline]] inline uint32_t byte_mask(const ByteClass& bytes, const char* at, const char* end) {
  constexpr uint32_t kFlip = kInside ? 0 : static_cast<uint32_t>((uint64_t{1} << Scan::kBytes) - 1);
  const char* const last = end - Scan::kBytes;
  if (at <= last) [[likely]]
    return Scan::members(at, bytes) ^ kFlip;
  return at < end ? (Scan::members(last, bytes) ^ kFlip) >> (at - last) : 0;
}

// Returns true if all bytes of `text` are in `bytes`. The function chooses the scan itself at each call. A parser that
// examines many parts of a text should instead be a template over the scan and use find_byte().
bool all_in(const ByteClass& bytes, std::string_view text);

// Returns true if no byte of `text` is in `bytes`. The function chooses the scan itself, like all_in().
bool none_in(const ByteClass& bytes, std::string_view text);

}  // namespace peal::detail
