// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/cookie_date.h>

#include <algorithm>
#include <array>
#include <chrono>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};

// True for a character that separates the words of a date (RFC 6265bis 5.1.1, "delimiter").
bool is_delimiter(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value == 0x09 || (value >= 0x20 && value <= 0x2f) || (value >= 0x3b && value <= 0x40) ||
         (value >= 0x5b && value <= 0x60) || (value >= 0x7b && value <= 0x7e);
}

// Reads a number of `least` to `most` digits and removes it from the front of `text`. Returns nullopt and leaves `text`
// unchanged if the number has fewer or more digits.
std::optional<int> take_number(std::string_view& text, size_t least, size_t most) {
  size_t digits = 0;
  int number = 0;
  for (; digits < text.size() && detail::is_digit(text[digits]); ++digits) {
    if (digits == most) return std::nullopt;
    number = number * 10 + (text[digits] - '0');
  }
  if (digits < least) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// Hour, minute and second.
using TimeOfDay = std::array<int, 3>;

// Reads a time such as "8:49:37". Characters after the time are ignored unless the first of them is a digit.
std::optional<TimeOfDay> read_time(std::string_view token) {
  TimeOfDay time{};
  for (size_t at = 0; at < time.size(); ++at) {
    if (at > 0) {
      if (!token.starts_with(':')) return std::nullopt;
      token.remove_prefix(1);
    }
    const std::optional<int> number = take_number(token, 1, 2);
    if (!number) return std::nullopt;
    time[at] = *number;
  }
  return time;
}

// Reads the number at the front of a word. Characters after the number are ignored.
std::optional<int> read_number(std::string_view token, size_t least, size_t most) {
  return take_number(token, least, most);
}

// Returns the number of the month with this name, 1 for January. Only the first three letters of the name are compared.
std::optional<int> read_month(std::string_view token) {
  if (token.size() < 3) return std::nullopt;
  const auto* const found = std::ranges::find_if(
      kMonths, [&](std::string_view month) { return detail::equals_lower(token.substr(0, 3), month); });
  if (found == std::ranges::end(kMonths)) return std::nullopt;
  return static_cast<int>(found - kMonths) + 1;
}

// The parts of a date that have been read so far.
struct CookieDate {
  std::optional<TimeOfDay> time;
  std::optional<int> day;
  std::optional<int> month;
  std::optional<int> year;

  // Reads one word of the date. The word becomes the first part that is still missing and whose form the word has, in
  // the order time, day, month, year. A word that fits no missing part is ignored.
  void take(std::string_view token) {
    if (fill(time, read_time(token)) || fill(day, read_number(token, 1, 2)) || fill(month, read_month(token))) return;
    fill(year, read_number(token, 2, 4));
  }

 private:
  // Stores the value that was read. Returns false if nothing was read, or if the part has a value already.
  template <class T>
  static bool fill(std::optional<T>& part, const std::optional<T>& read) {
    if (part || !read) return false;
    part = read;
    return true;
  }
};

}  // namespace

std::optional<int64_t> parse_cookie_date(std::string_view text) {
  namespace ch = std::chrono;
  CookieDate found;
  while (!text.empty()) {
    const auto* const begin = std::ranges::find_if_not(text, is_delimiter);
    const auto* const end = std::find_if(begin, text.end(), is_delimiter);
    if (begin != end) found.take({begin, end});
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
  if (!found.time || !found.day || !found.month || !found.year) return std::nullopt;
  const int year = *found.year + (*found.year >= 100 ? 0 : *found.year >= 70 ? 1900 : 2000);
  const auto [hour, minute, second] = *found.time;
  if (year < 1601 || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const ch::year_month_day date{ch::year(year), ch::month(static_cast<unsigned>(*found.month)),
                                ch::day(static_cast<unsigned>(*found.day))};
  if (!date.ok()) return std::nullopt;
  const int64_t day = ch::sys_days(date).time_since_epoch().count();
  return ((day * 24 + hour) * 60 + minute) * 60 + second;
}

}  // namespace peal
