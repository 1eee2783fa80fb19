// SPDX-License-Identifier: BSD-3-Clause
// The notebook that the programs of the guide serve. All clients share it. It does no networking, so callbacks,
// coroutines, HTTP handlers and tests can all use it. Only one thread may use it at a time.
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
  // Limits protect the memory of the program, because any client may add notes.
  static constexpr size_t kMostNotes = 1000;
  static constexpr size_t kMostNoteBytes = 200;

  // Adds a note and returns its number. Returns nothing if the text is empty or too long, or the notebook is full.
  std::optional<uint64_t> add(std::string_view text) {
    if (text.empty() || text.size() > kMostNoteBytes || notes_.size() >= kMostNotes) return std::nullopt;
    notes_.emplace(++last_number_, text);
    return last_number_;
  }
  bool remove(uint64_t number) { return notes_.erase(number) > 0; }
  const std::map<uint64_t, std::string>& notes() const { return notes_; }

  // Quoted in docs: [answer]
  // Returns the answer to one line of a client. The notebook knows the commands `add TEXT` and `list`. Any other line
  // is answered with the list of commands. The caller handles commands of its own, such as `quit`, before it calls
  // answer(). Each answer ends with a newline. The answer to `list` has one line for each note, and a single dot as its
  // last line.
  std::string answer(std::string_view line) {
    if (line == "list") return list();
    if (!line.starts_with("add ")) return "? add TEXT, list, quit\n";
    const auto number = add(line.substr(4));
    return number ? "added " + std::to_string(*number) + '\n' : "! not added: empty, too long, or the book is full\n";
  }
  // End of quote: [answer]

 private:
  std::string list() const {
    std::string text;
    for (const auto& [number, note] : notes_) text += std::to_string(number) + ' ' + note + '\n';
    return text + ".\n";
  }

  std::map<uint64_t, std::string> notes_;
  uint64_t last_number_ = 0;
};
