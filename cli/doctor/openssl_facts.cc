// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/openssl_facts.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <system_error>

namespace peal::cli {
namespace {

// If `text` starts with `prefix` and a hexadecimal number, removes both from `text` and returns the number. Otherwise
// returns nothing. If only the number is missing or too large, `prefix` is removed nevertheless.
std::optional<uint64_t> take_hex(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool all_set(uint64_t word, std::initializer_list<int> bits) {
  return std::ranges::all_of(bits, [word](int bit) { return (word >> bit & 1) != 0; });
}

bool is_3_1_or_later(std::string_view version) {
  constexpr std::string_view kName = "OpenSSL ";
  if (!version.starts_with(kName)) return false;
  version.remove_prefix(kName.size());
  int major = 0;
  int minor = 0;
  const char* const last = version.end();
  const auto [dot, error] = std::from_chars(version.begin(), last, major);
  if (error != std::errc() || dot == last || *dot != '.') return false;
  return std::from_chars(dot + 1, last, minor).ec == std::errc() && (major > 3 || (major == 3 && minor >= 1));
}

}  // namespace

// Finds the instructions in the bits of `processor`. On x86, `processor` contains the two numbers of
// OPENSSL_ia32cap(3), which have 64 bits each:
// - First number: the low half is EDX and the high half is ECX of CPUID leaf 1. Bit 57 is AES-NI, and bit 33 is
//   PCLMULQDQ.
// - Second number: the low half is EBX and the high half is ECX of CPUID leaf 7. Bit 41 is VAES, and bit 42 is
//   VPCLMULQDQ. Bits 16, 17, 30 and 31 are AVX-512 F, DQ, BW and VL, without which OpenSSL does not use VAES.
//
// On ARM, `processor` contains one number, OPENSSL_armcap, whose bits have other meanings.
AesInstructions aes_instructions(std::string_view processor, std::string_view version) {
  if (const std::optional<uint64_t> arm = take_hex(processor, "OPENSSL_armcap=0x")) {
    return {.aes = all_set(*arm, {2, 5})};  // ARMV8_AES, ARMV8_PMULL
  }
  const std::optional<uint64_t> first = take_hex(processor, "OPENSSL_ia32cap=0x");
  const std::optional<uint64_t> second = first ? take_hex(processor, ":0x") : std::nullopt;
  AesInstructions found{.aes = first && all_set(*first, {57, 33})};
  found.wide_aes = found.aes && second && all_set(*second, {16, 17, 30, 31, 41, 42});
  found.wide_used = found.wide_aes && is_3_1_or_later(version);
  return found;
}

std::string roots_there(const TlsFacts& facts) {
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(facts.roots_file, ignored);
  if (!ignored && bytes > 0) return facts.roots_file;
  for (std::filesystem::directory_iterator entry(facts.roots_folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    constexpr size_t kHashDigits = 8;
    const std::filesystem::path& path = entry->path();
    if (path.stem().native().size() == kHashDigits && path.extension() == ".0") return facts.roots_folder;
  }
  return {};
}

}  // namespace peal::cli
