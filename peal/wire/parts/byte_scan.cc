// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parts/byte_scan.h>

#include <peal/base/assert.h>
#include <peal/wire/scan_kind.h>

namespace peal::detail {
namespace {

ScanKind best_scan() {
  if (has_scan(ScanKind::kAvx2)) return ScanKind::kAvx2;
  return has_scan(ScanKind::kSsse3) ? ScanKind::kSsse3 : ScanKind::kPortable;
}

// The kind that scan_kind() returns. It is kPortable until the static initialization of this file.
ScanKind chosen_scan = best_scan();

template <bool kInside>
const char* find_portable(const ByteClass& bytes, std::string_view text) {
  return find_byte<PortableScan, kInside>(bytes, text.data(), text.data() + text.size());
}

#ifdef __x86_64__
template <bool kInside>
[[gnu::target("ssse3")]] const char* find_ssse3(const ByteClass& bytes, std::string_view text) {
  return find_byte<Ssse3Scan, kInside>(bytes, text.data(), text.data() + text.size());
}
#endif

// Returns true if no byte of `text` is in `bytes` (kInside is true), or if all bytes of `text` are (kInside is false).
// Texts are short, so 32 bytes at a time would gain nothing.
template <bool kInside>
bool finds_none(const ByteClass& bytes, std::string_view text) {
  const char* end = text.data() + text.size();
#ifdef __x86_64__
  if (text.size() >= Ssse3Scan::kBytes && chosen_scan != ScanKind::kPortable) {
    return find_ssse3<kInside>(bytes, text) == end;
  }
#endif
  return find_portable<kInside>(bytes, text) == end;
}

}  // namespace

bool all_in(const ByteClass& bytes, std::string_view text) { return finds_none<false>(bytes, text); }
bool none_in(const ByteClass& bytes, std::string_view text) { return finds_none<true>(bytes, text); }

}  // namespace peal::detail

namespace peal {

bool has_scan(ScanKind kind) {
#ifdef __x86_64__
  if (kind == ScanKind::kSsse3) return __builtin_cpu_supports("ssse3") != 0;
  if (kind == ScanKind::kAvx2) {
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
           __builtin_cpu_supports("bmi2") != 0;
  }
#endif
  return kind == ScanKind::kPortable;
}

ScanKind scan_kind() { return detail::chosen_scan; }

void force_scan(ScanKind kind) {
  PEAL_ASSERT(has_scan(kind), "this processor does not support ScanKind {}", static_cast<int>(kind));
  detail::chosen_scan = kind;
}

}  // namespace peal
