// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/access_line.h>

#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include <peal/base/printable.h>
#include <peal/wire/content/http_date.h>
#include <peal/wire/content/json_string.h>

namespace peal::detail {

namespace {

void append_quoted(std::string& lines, std::string_view text) {
  lines += '"';
  append_printable(lines, text, PrintableAs::kQuoted);
  lines += '"';
}

void append_combined(std::string& lines, const AccessEntry& entry) {
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

// Appends `,"key":"value"` if there is a value.
void append_member(std::string& lines, std::string_view key, std::optional<std::string_view> value) {
  if (!value) return;
  fmt::format_to(std::back_inserter(lines), ",\"{}\":", key);
  append_json_string(lines, *value);
}

void append_json(std::string& lines, const AccessEntry& entry) {
  const HttpRequestHead* head = entry.head;
  lines += "{\"time\":";
  append_json_string(lines, entry.date);
  if (!entry.client.empty() && entry.client != "-") append_member(lines, "client", entry.client);
  if (head != nullptr) {
    append_member(lines, "method", head->method_text());
    append_member(lines, "target", head->target());
    append_member(lines, "version", head->minor_version() == 0 ? "HTTP/1.0" : "HTTP/1.1");
  }
  fmt::format_to(std::back_inserter(lines), ",\"status\":{},\"bytes\":{}", entry.status, entry.body_bytes);
  if (entry.duration) {
    fmt::format_to(std::back_inserter(lines), ",\"duration_us\":{}",
                   std::chrono::duration_cast<std::chrono::microseconds>(*entry.duration).count());
  }
  if (head != nullptr) {
    append_member(lines, "referer", head->find("Referer"));
    append_member(lines, "user_agent", head->find("User-Agent"));
  }
  append_member(lines, "request_id", entry.request_id);
  lines += "}\n";
}

}  // namespace

std::string access_date(HttpAccessLogFormat format, int64_t unix_seconds) {
  if (format == HttpAccessLogFormat::kJson) {
    const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count());
  }
  // Rewrites "Sun, 06 Nov 1994 08:49:37 GMT" as "06/Nov/1994:08:49:37 +0000".
  const auto text = format_http_date(unix_seconds);
  const std::string_view date(text.data(), text.size());
  return fmt::format("{}/{}/{}:{} +0000", date.substr(5, 2), date.substr(8, 3), date.substr(12, 4), date.substr(17, 8));
}

void append_access_line(std::string& lines, HttpAccessLogFormat format, const AccessEntry& entry) {
  if (format == HttpAccessLogFormat::kJson) return append_json(lines, entry);
  append_combined(lines, entry);
}

}  // namespace peal::detail
