// SPDX-License-Identifier: BSD-3-Clause
// Functions that examine 16 bytes of a response's head at once and return a mask: bit i of the mask is about byte i.
// HttpResponseParser uses them to find the ends of field names and lines. They use SSE2, which each x86-64 processor
// has. On other machines they are loops, the functions ..._portable(); the tests compare both. Any thread.
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

// Returns the mask of the bytes below SP among the 16 bytes at `bytes`, like control_mask(), but without SSE2.
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
// Returns the mask of the bytes below SP among the 16 bytes at `bytes`.
inline uint32_t control_mask(const char* bytes) {
  const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(data, _mm_set1_epi8(0x1f)), data)));
}

// Returns the mask of the bytes that are neither an ASCII letter nor '-', among the 16 bytes at `bytes`. The first such
// byte is the end of the name in nearly every header line.
inline uint32_t not_name_mask(const char* bytes) {
  const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  // A byte that was converted to lower case (| 0x20) is a letter if it is at most 25 above 'a'.
  const __m128i place = _mm_sub_epi8(_mm_or_si128(data, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
  const __m128i letter = _mm_cmpeq_epi8(_mm_subs_epu8(place, _mm_set1_epi8(25)), _mm_setzero_si128());
  const __m128i dash = _mm_cmpeq_epi8(data, _mm_set1_epi8('-'));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(letter, dash))) ^ 0xffff;
}
#else
inline uint32_t control_mask(const char* bytes) { return control_mask_portable(bytes); }
inline uint32_t not_name_mask(const char* bytes) { return not_name_mask_portable(bytes); }
#endif

// Returns the index of the lowest bit that is set, or 32 if none is.
inline size_t first_bit(uint32_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

// Returns the first byte below SP in [at, end), or `end` if there is none. The kMaskBytes bytes before `end` must be
// readable, even those before `at`.
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
