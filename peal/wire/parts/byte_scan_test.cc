// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parts/byte_scan.h>

#include <cctype>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/http/http_request_run.h>

namespace peal::detail {
namespace {

using test::ForcedScan;
using test::scans_of_this_machine;

constexpr const ByteClass* kClasses[] = {&kTokenBytes, &kControlBytes, &kTargetBytes, &kPathBytes, &kHostBytes};

TEST(ByteClass, what_the_grammar_says) {
  for (int value = 0; value < 256; ++value) {
    const char byte = static_cast<char>(value);
    const bool letter = std::isalnum(value) != 0 && value < 0x80;
    EXPECT_EQ(kTokenBytes.contains(byte), value != 0 && (letter || std::strchr("!#$%&'*+-.^_`|~", value) != nullptr));
    EXPECT_EQ(kControlBytes.contains(byte), (value < 0x20 && value != '\t') || value == 0x7f);
    EXPECT_EQ(kTargetBytes.contains(byte),
              value > 0x20 && value < 0x7f && std::strchr("#\"<>\\^`{|}", value) == nullptr);
    EXPECT_EQ(kPathBytes.contains(byte), kTargetBytes.contains(byte) && value != '?');
    EXPECT_EQ(kHostBytes.contains(byte), value != 0 && (letter || std::strchr("-._~!$&'()*+,;=", value) != nullptr));
  }
}

#ifdef __x86_64__
template <class Scan>
[[gnu::target("avx2,bmi,bmi2")]] void expect_as_by_table() {
  for (const ByteClass* bytes : kClasses) {
    for (int value = 0; value < 256; ++value) {
      for (size_t at = 0; at < Scan::kBytes; ++at) {
        std::string text(Scan::kBytes, 'a');
        text[at] = static_cast<char>(value);
        uint32_t expected = 0;
        for (size_t i = 0; i < text.size(); ++i) expected |= uint32_t{bytes->contains(text[i])} << i;
        ASSERT_EQ(Scan::members(text.data(), *bytes), expected) << value << " at " << at;
      }
    }
  }
}

TEST(ByteScan, every_byte_at_every_place_as_the_table_has_it) {
  if (has_scan(ScanKind::kSsse3)) expect_as_by_table<Ssse3Scan>();
  if (has_scan(ScanKind::kAvx2)) expect_as_by_table<Avx2Scan>();
}
#endif

TEST(ByteScan, stretches_of_every_length_before_an_unmapped_page) {
  test::GuardedBytes guarded(100);
  for (const auto kind : scans_of_this_machine()) {
    const ForcedScan scan(kind);
    for (size_t size = 0; size < 80; ++size) {
      for (size_t odd = 0; odd <= size; ++odd) {
        std::string text(size, 'x');
        if (odd < size) text[odd] = '\r';
        const std::string_view bytes = guarded.hold(text);
        ASSERT_EQ(all_in(kTokenBytes, bytes), odd == size) << size << ' ' << odd;
        ASSERT_EQ(none_in(kControlBytes, bytes), odd == size) << size << ' ' << odd;
      }
    }
  }
}

TEST(ByteScan, the_best_one_is_chosen) {
  EXPECT_TRUE(has_scan(ScanKind::kPortable));
  EXPECT_EQ(scan_kind(), scans_of_this_machine().back());
}

}  // namespace
}  // namespace peal::detail
