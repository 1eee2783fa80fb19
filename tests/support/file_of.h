// SPDX-License-Identifier: BSD-3-Clause
// file_of(): makes a file without a name that holds the given bytes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include <peal/engine/engine.h>

namespace peal::test {

inline FileRange file_of(std::string_view bytes) {
  auto file = std::make_shared<Fd>(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(file->get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return {.file = std::move(file), .offset = 0, .bytes = bytes.size()};
}

}  // namespace peal::test
