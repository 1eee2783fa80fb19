// SPDX-License-Identifier: BSD-3-Clause
// Functions that read and write unsigned integers of 1 to 8 bytes. The byte order is big-endian unless the second
// template argument is std::endian::little. Pure functions; any thread.
//
//   std::optional<uint32_t> length = peal::read_integer<4>(input);           // removes the 4 bytes from `input`
//   std::optional<uint16_t> port = peal::peek_integer<2, std::endian::little>(bytes);
//   peal::append_integer<4>(output, 5U);
//
// The functions that take a Buffer join blocks only if the integer lies in more than one. To read or write a signed
// integer, cast it to and from the unsigned type of the same size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <peal/base/bad_value.h>
#include <peal/base/memory/buffer.h>

namespace peal {

// The smallest unsigned type that holds kBytes bytes.
template <size_t kBytes>
  requires(kBytes >= 1 && kBytes <= 8)
using IntegerOfBytes = std::conditional_t<
    (kBytes == 1), uint8_t,
    std::conditional_t<(kBytes == 2), uint16_t, std::conditional_t<(kBytes <= 4), uint32_t, uint64_t>>>;

namespace detail {

// Throws std::invalid_argument unless `width` is 1 to 8.
inline void check_width(size_t width) {
  if (width - 1 >= sizeof(uint64_t)) [[unlikely]]
    throw_bad_value("an integer of {} bytes; 1 to 8 are possible", width);
}

// Converts `word` between the byte order of this machine and big-endian (`big_endian` is true) or little-endian order.
inline uint64_t in_order(uint64_t word, bool big_endian) {
  return big_endian == (std::endian::native == std::endian::big) ? word : std::byteswap(word);
}

// Returns the integer that the first `width` bytes of the memory of `word` contain.
inline uint64_t integer_in_word(uint64_t word, size_t width, bool big_endian) {
  const size_t unused_bits = 8 * (sizeof word - width);
  if (big_endian) [[likely]]
    return in_order(word, true) >> unused_bits;
  return in_order(word, false) << unused_bits >> unused_bits;
}

// Returns a word whose memory begins with the `width` bytes of `value`. It is the inverse of integer_in_word().
inline uint64_t word_with_integer(uint64_t value, size_t width, bool big_endian) {
  return in_order(big_endian ? value << 8 * (sizeof value - width) : value, big_endian);
}

// Returns the integer in the first `width` bytes of `bytes`, which must have at least `width` bytes. If `bytes` has 8
// or more bytes, a single load instruction is enough.
inline uint64_t load_integer(std::string_view bytes, size_t width, bool big_endian) {
  uint64_t word = 0;
  if (bytes.size() >= sizeof word) [[likely]] {
    std::memcpy(&word, bytes.data(), sizeof word);
  } else {
    std::memcpy(&word, bytes.data(), width);
  }
  return integer_in_word(word, width, big_endian);
}

// Throws std::invalid_argument if `value` needs more than `width` bytes.
inline void check_fits(uint64_t value, size_t width) {
  if (value > UINT64_MAX >> 8 * (sizeof value - width)) [[unlikely]]
    throw_bad_value("{} does not fit into {} bytes", value, width);
}

}  // namespace detail

// Returns the integer in the first kBytes bytes of `bytes` or `input`, and removes nothing. Returns nullopt if there
// are fewer bytes.
template <size_t kBytes, std::endian kOrder = std::endian::big>
std::optional<IntegerOfBytes<kBytes>> peek_integer(std::string_view bytes) {
  if (bytes.size() < kBytes) return std::nullopt;
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), kBytes);
  return static_cast<IntegerOfBytes<kBytes>>(detail::integer_in_word(word, kBytes, kOrder == std::endian::big));
}
template <size_t kBytes, std::endian kOrder = std::endian::big>
std::optional<IntegerOfBytes<kBytes>> peek_integer(Buffer& input) {
  if (input.size() < kBytes) return std::nullopt;
  return peek_integer<kBytes, kOrder>(input.view(kBytes));
}

// Returns the integer in the first kBytes bytes of `bytes` or `input` and removes these bytes. Returns nullopt and
// removes nothing if there are fewer bytes.
template <size_t kBytes, std::endian kOrder = std::endian::big>
std::optional<IntegerOfBytes<kBytes>> read_integer(std::string_view& bytes) {
  const auto value = peek_integer<kBytes, kOrder>(bytes);
  if (value) bytes.remove_prefix(kBytes);
  return value;
}
template <size_t kBytes, std::endian kOrder = std::endian::big>
std::optional<IntegerOfBytes<kBytes>> read_integer(Buffer& input) {
  const auto value = peek_integer<kBytes, kOrder>(input);
  if (value) input.consume(kBytes);
  return value;
}

// Appends `value` as an integer of kBytes bytes. Throws std::invalid_argument and appends nothing if `value` needs more
// bytes.
template <size_t kBytes, std::endian kOrder = std::endian::big>
  requires(kBytes >= 1 && kBytes <= 8)
void append_integer(Buffer& output, uint64_t value) {
  detail::check_fits(value, kBytes);
  const uint64_t word = detail::word_with_integer(value, kBytes, kOrder == std::endian::big);
  std::memcpy(output.prepare(kBytes).data(), &word, kBytes);
  output.commit(kBytes);
}
template <size_t kBytes, std::endian kOrder = std::endian::big>
  requires(kBytes >= 1 && kBytes <= 8)
void append_integer(std::string& output, uint64_t value) {
  detail::check_fits(value, kBytes);
  const uint64_t word = detail::word_with_integer(value, kBytes, kOrder == std::endian::big);
  output.append(reinterpret_cast<const char*>(&word), kBytes);
}

}  // namespace peal
