// SPDX-License-Identifier: BSD-3-Clause
// Tables with one entry for each fd. A vector is the fastest table, because the kernel gives a new fd the lowest free
// number.
#pragma once

#include <cstddef>
#include <vector>

namespace peal::models {

// Returns the entry of `table` with the index `fd`. If the table is too short, first makes it longer.
template <class Entry>
Entry& entry_of(std::vector<Entry>& table, int fd) {
  const auto index = static_cast<size_t>(fd);
  if (index >= table.size()) table.resize(index + 1);
  return table[index];
}

}  // namespace peal::models
