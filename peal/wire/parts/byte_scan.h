// SPDX-License-Identifier: BSD-3-Clause
// Looks for the first byte that is, or is not, in a ByteClass: by table, or 16 or 32 bytes at a time with what the
// processor has (SSSE3, AVX2; scan_kind.h says which).
//
// A reader of more than one stretch is written once, as a template over the scan, and compiled for each:
//   template <class Scan> [[gnu::always_inline]] inline void read(...);
//   [[gnu::target("avx2,bmi,bmi2")]] void read_avx2(...) { read<Avx2Scan>(...); }
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

// Stretches of any size, by table.
struct PortableScan {
  static constexpr size_t kBytes = 1;
  static uint32_t members(const char* at, const ByteClass& bytes) { return bytes.contains(*at) ? 1 : 0; }
};

// The bit of each upper half, in both halves of a vector; none stands for obs-text.
struct alignas(32) UpperBits {
  uint8_t bits[32] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8_t half[32] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                      15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
};
inline constexpr UpperBits kUpperBits;

#ifdef __x86_64__
// Bit i of members() is set where at[i] is in the class. A row is chosen by a byte's lower half (0 for obs-text, which
// no class holds) and the bit in it by its upper half.
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

// The first byte of [at, end) that is in `bytes` (kInside) or is not, or `end`. At least Scan::kBytes before `end` must
// be readable, whether they are asked about or not.
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

// Bit i is set where at[i] is in `bytes` (kInside) or is not, for the first Scan::kBytes before `end`; the same bytes
// must be readable.
template <class Scan, bool kInside>
[[gnu::always_inline]] inline uint32_t byte_mask(const ByteClass& bytes, const char* at, const char* end) {
  constexpr uint32_t kFlip = kInside ? 0 : static_cast<uint32_t>((uint64_t{1} << Scan::kBytes) - 1);
  const char* const last = end - Scan::kBytes;
  if (at <= last) [[likely]]
    return Scan::members(at, bytes) ^ kFlip;
  return at < end ? (Scan::members(last, bytes) ^ kFlip) >> (at - last) : 0;
}

// For a stretch now and then.
bool all_in(const ByteClass& bytes, std::string_view text);
bool none_in(const ByteClass& bytes, std::string_view text);

}  // namespace peal::detail
