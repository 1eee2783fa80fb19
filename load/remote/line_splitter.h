// SPDX-License-Identifier: BSD-3-Clause
// LineSplitter: takes bytes and returns complete lines. It keeps only the first `most_bytes` bytes of a line, so that a
// long line cannot fill the memory. An error can still quote the beginning of the line. It is a plain value and does no
// I/O.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace peal::load {

struct SplitLine {
  std::string text;  // without the line end
  bool is_cut = false;
};

class LineSplitter {
 public:
  explicit LineSplitter(size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string_view bytes);
  bool has_line() const { return !lines_.empty(); }
  std::optional<SplitLine> next();
  // Returns the bytes that were received after the last line end. They are the beginning of a line.
  const std::string& rest() const { return begun_.text; }

 private:
  const size_t most_bytes_;
  SplitLine begun_;
  std::deque<SplitLine> lines_;
};

}  // namespace peal::load
