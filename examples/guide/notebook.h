// SPDX-License-Identifier: BSD-3-Clause
// What the guide's programs serve: a notebook that everybody shares. It knows nothing of networks, so that a callback,
// a coroutine, an HTTP handler and a test can all use it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

class Notebook {
 public:
  // Whoever keeps what strangers send decides how much: this many notes, this many bytes each.
  static constexpr size_t kMostNotes = 1000;
  static constexpr size_t kMostNoteBytes = 200;

  // The number of the new note. Nothing: it is empty or too long, or the book is full.
  std::optional<uint64_t> add(std::string_view text) {
    if (text.empty() || text.size() > kMostNoteBytes || notes_.size() >= kMostNotes) return std::nullopt;
    notes_.emplace(++last_number_, text);
    return last_number_;
  }
  bool remove(uint64_t number) { return notes_.erase(number) > 0; }
  const std::map<uint64_t, std::string>& notes() const { return notes_; }

  // [answer]
  // The protocol of lines: `add TEXT`, `list`. The answer ends with a newline, that of `list` with a line of one dot.
  std::string answer(std::string_view line) {
    if (line == "list") return list();
    if (!line.starts_with("add ")) return "? add TEXT, list, quit\n";
    const auto number = add(line.substr(4));
    return number ? "added " + std::to_string(*number) + '\n' : "! not added: empty, too long, or the book is full\n";
  }
  // [answer]

 private:
  std::string list() const {
    std::string text;
    for (const auto& [number, note] : notes_) text += std::to_string(number) + ' ' + note + '\n';
    return text + ".\n";
  }

  std::map<uint64_t, std::string> notes_;
  uint64_t last_number_ = 0;
};
