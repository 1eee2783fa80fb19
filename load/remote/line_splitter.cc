// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/line_splitter.h>

#include <algorithm>
#include <utility>

namespace peal::load {

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const size_t room = most_bytes_ - begun_.text.size();
    begun_.text += piece.substr(0, room);
    begun_.is_cut |= piece.size() > room;
    if (end == std::string_view::npos) return;
    lines_.push_back(std::exchange(begun_, {}));
    bytes.remove_prefix(end + 1);
  }
}

std::optional<SplitLine> LineSplitter::next() {
  if (lines_.empty()) return std::nullopt;
  SplitLine line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

}  // namespace peal::load
