// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parts/byte_masks.h>

#include <string>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal::detail {
namespace {

TEST(ByteMasks, every_byte_at_every_place_as_the_loops_have_it) {
  for (int value = 0; value < 256; ++value) {
    for (size_t at = 0; at < kMaskBytes; ++at) {
      for (const char around : {'a', '\r', ':', '\xff'}) {
        std::string bytes(kMaskBytes, around);
        bytes[at] = static_cast<char>(value);
        ASSERT_EQ(control_mask(bytes.data()), control_mask_portable(bytes.data())) << value << " at " << at;
        ASSERT_EQ(not_name_mask(bytes.data()), not_name_mask_portable(bytes.data())) << value << " at " << at;
      }
    }
  }
}

TEST(ByteMasks, a_control_at_every_place_before_an_unmapped_page) {
  test::GuardedBytes guarded(100);
  for (size_t size = kMaskBytes; size < 70; ++size) {
    for (size_t from = 0; from <= size; ++from) {
      for (size_t control = 0; control <= size; ++control) {
        std::string text(size, 'x');
        if (control < size) text[control] = '\x1f';
        const std::string_view bytes = guarded.hold(text);
        const char* end = bytes.data() + size;
        const char* expected = control >= from ? bytes.data() + control : end;
        ASSERT_EQ(find_control(bytes.data() + from, end), expected) << size << ' ' << from << ' ' << control;
      }
    }
  }
}

}  // namespace
}  // namespace peal::detail
