// SPDX-License-Identifier: BSD-3-Clause
// Tables by fd: the kernel gives out the lowest number that is free, so a vector is the fastest map there is.
#pragma once

#include <cstddef>
#include <vector>

namespace peal::models {

// What the table has of this fd; it grows as need be.
template <class Entry>
Entry& entry_of(std::vector<Entry>& table, int fd) {
  const auto index = static_cast<size_t>(fd);
  if (index >= table.size()) table.resize(index + 1);
  return table[index];
}

}  // namespace peal::models
