// SPDX-License-Identifier: BSD-3-Clause
// Sixteen bytes at a time: which of them end a plain stretch of a head. Bit i of a mask belongs to byte i.
// SSE2 is part of x86-64; other machines take the loops, which the tests hold against it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace peal::detail {

inline constexpr size_t kMaskBytes = 16;

inline bool is_name_letter(char byte) { return ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '-'; }

inline uint32_t control_mask_portable(const char* bytes) {
  uint32_t mask = 0;
  for (size_t at = 0; at < kMaskBytes; ++at) mask |= uint32_t{static_cast<unsigned char>(bytes[at]) < 0x20} << at;
  return mask;
}

inline uint32_t not_name_mask_portable(const char* bytes) {
  uint32_t mask = 0;
  for (size_t at = 0; at < kMaskBytes; ++at) mask |= uint32_t{!is_name_letter(bytes[at])} << at;
  return mask;
}

#ifdef __SSE2__
// Bytes below SP.
inline uint32_t control_mask(const char* bytes) {
  const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(data, _mm_set1_epi8(0x1f)), data)));
}

// Bytes that are neither an ASCII letter nor '-': the end of nearly every field name.
inline uint32_t not_name_mask(const char* bytes) {
  const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  // In lower case the letters are those at most 25 beyond 'a'.
  const __m128i place = _mm_sub_epi8(_mm_or_si128(data, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
  const __m128i letter = _mm_cmpeq_epi8(_mm_subs_epu8(place, _mm_set1_epi8(25)), _mm_setzero_si128());
  const __m128i dash = _mm_cmpeq_epi8(data, _mm_set1_epi8('-'));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(letter, dash))) ^ 0xffff;
}
#else
inline uint32_t control_mask(const char* bytes) { return control_mask_portable(bytes); }
inline uint32_t not_name_mask(const char* bytes) { return not_name_mask_portable(bytes); }
#endif

inline size_t first_bit(uint32_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

// The first byte of [at, end) below SP, or `end`. At least kMaskBytes before `end` must be readable.
inline const char* find_control(const char* at, const char* end) {
  const char* last = end - kMaskBytes;
  for (; at <= last; at += kMaskBytes) {
    if (const uint32_t mask = control_mask(at); mask != 0) return at + first_bit(mask);
  }
  if (at >= end) return end;
  const uint32_t mask = control_mask(last) >> (at - last);
  return mask == 0 ? end : at + first_bit(mask);
}

}  // namespace peal::detail
