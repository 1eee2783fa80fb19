// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/near_names.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peal/base/ascii.h>

namespace peal::cli {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kMostLetters = 256;  // longer names are skipped: a comparison takes time O(length * length)
constexpr size_t kMostCompared = 1000;

// Returns the Levenshtein distance: the least number of bytes that must be changed, added or removed to turn `one` into
// `other`. Upper and lower case of ASCII letters count as equal.
size_t distance(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t k = 0; k < other.size(); ++k) {
      const size_t changed = diagonal + (to_lower(one[i]) == to_lower(other[k]) ? 0 : 1);
      diagonal = std::exchange(row[k + 1], std::min({changed, row[k] + 1, row[k + 1] + 1}));
    }
  }
  return row.back();
}

// Returns the end of `name` that has as many parts as `asked`. Dots separate the parts. If `name` is "a.b.c" and
// `asked` is "x.y", returns "b.c". If `name` has fewer parts than `asked`, returns all of it.
std::string_view tail_like(std::string_view name, std::string_view asked) {
  size_t from = name.size();
  for (auto dots = std::ranges::count(asked, '.') + 1; dots > 0; --dots) {
    from = name.rfind('.', from - 1);
    if (from == std::string_view::npos || from == 0) return name;
  }
  return name.substr(from + 1);
}

}  // namespace

std::vector<std::string> near_names(std::span<const std::string> names, std::string_view asked) {
  std::vector<std::pair<size_t, std::string>> found;
  const size_t most = std::max<size_t>(2, asked.size() / 4);
  size_t compared = 0;
  for (const std::string& name : names) {
    if (asked.empty() || std::max(asked.size(), name.size()) > kMostLetters) continue;
    const std::string_view tail = tail_like(name, asked);
    // Skips a name if the lengths of `asked` and `tail` differ by more than `most`. The name cannot be near, because
    // the distance is never less than the difference of the lengths.
    if (std::max(asked.size(), tail.size()) - std::min(asked.size(), tail.size()) > most) continue;
    if (++compared > kMostCompared) break;
    const size_t letters = distance(asked, tail);
    if (letters <= most) found.emplace_back(letters, name);
  }
  std::ranges::sort(found);
  std::vector<std::string> nearest;
  for (auto& [letters, name] : found) {
    if (nearest.size() < kMostNames) nearest.push_back(std::move(name));
  }
  return nearest;
}

std::string did_you_mean(std::span<const std::string> names, std::string_view asked) {
  const std::vector<std::string> near = near_names(names, asked);
  return near.empty() ? std::string() : fmt::format(" (did you mean {}?)", fmt::join(near, " or "));
}

}  // namespace peal::cli
