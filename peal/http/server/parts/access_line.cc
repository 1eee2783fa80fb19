// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/access_line.h>

#include <iterator>

#include <fmt/format.h>

#include <peal/base/printable.h>

namespace peal::detail {

namespace {

void append_quoted(std::string& lines, std::string_view text) {
  lines += '"';
  append_printable(lines, text, PrintableAs::kQuoted);
  lines += '"';
}

}  // namespace

void append_access_line(std::string& lines, const AccessEntry& entry) {
  const HttpRequestHead* head = entry.head;
  fmt::format_to(std::back_inserter(lines), "{} - - [{}] ", entry.client.empty() ? "-" : entry.client, entry.date);
  if (head == nullptr) {
    lines += "\"-\"";
  } else {
    append_quoted(lines, fmt::format("{} {} HTTP/1.{}", head->method_text(), head->target(), head->minor_version()));
  }
  fmt::format_to(std::back_inserter(lines), " {} {} ", entry.status, entry.body_bytes);
  append_quoted(lines, head == nullptr ? "-" : head->find("Referer").value_or("-"));
  lines += ' ';
  append_quoted(lines, head == nullptr ? "-" : head->find("User-Agent").value_or("-"));
  lines += '\n';
}

}  // namespace peal::detail
