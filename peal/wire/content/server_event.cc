// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/server_event.h>

#include <algorithm>
#include <cstdint>

namespace peal {
namespace {

// Appends one field or comment. A line end in the value would begin another field, so it becomes a space.
void append_line(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  if (!value.empty()) text += ' ';
  const size_t from = text.size();
  text += value;
  // NUL becomes a space too, because clients ignore an id with NUL in it.
  std::replace_if(
      text.begin() + static_cast<std::ptrdiff_t>(from), text.end(),
      [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  text += '\n';
}

// Appends one data field for each line of `data`. Text after the last line end is a line too, even if it is empty:
// "a\n" gives two fields, which the client joins to "a\n" again.
void append_lines(std::string& text, std::string_view data) {
  for (;;) {
    const size_t end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)) += '\n';
    if (end == data.npos) return;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

}  // namespace

std::string event_text(const ServerEvent& event) {
  std::string text;
  text.reserve(event.data.value_or("").size() + event.event.size() + event.id.value_or("").size() + 64);
  if (!event.event.empty()) append_line(text, "event:", event.event);
  if (event.id) append_line(text, "id:", *event.id);
  if (event.retry) append_line(text, "retry:", std::to_string(std::max<int64_t>(event.retry->count(), 0)));
  if (event.data) append_lines(text, *event.data);
  return text += '\n';
}

std::string event_comment(std::string_view text) {
  std::string line;
  append_line(line, ":", text);
  return line;
}

}  // namespace peal
