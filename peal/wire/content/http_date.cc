// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_date.h>

#include <algorithm>
#include <chrono>
#include <span>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

constexpr std::string_view kDayNames[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonthNames[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr int64_t kFirstSecond = -62'167'219'200;  // 0000-01-01 00:00:00
constexpr int64_t kLastSecond = 253'402'300'799;   // 9999-12-31 23:59:59

struct DateParts {
  int year = 0;
  unsigned month = 0;  // 1 is January
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

// Reads the text of a date from front to back. If a part of the text does not have the expected form, all later calls
// read nothing and at_end() returns false.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  // True if the whole text was read and every part of it had the expected form.
  bool at_end() const { return fits_ && rest_.empty(); }
  bool begins_with(std::string_view text) const { return rest_.starts_with(text); }
  void skip(std::string_view text) {
    fits_ = fits_ && rest_.starts_with(text);
    if (fits_) rest_.remove_prefix(text.size());
  }
  // Reads a number of exactly `digits` digits.
  unsigned number(size_t digits) {
    unsigned value = 0;
    fits_ = fits_ && rest_.size() >= digits && std::ranges::all_of(rest_.substr(0, digits), detail::is_digit);
    if (!fits_) return 0;
    for (const char digit : rest_.substr(0, digits)) value = value * 10 + static_cast<unsigned>(digit - '0');
    rest_.remove_prefix(digits);
    return value;
  }
  // Reads one of `names` and returns its index. The text contains only the first `bytes` bytes of each name.
  unsigned name(std::span<const std::string_view> names, size_t bytes = std::string_view::npos) {
    const auto found =
        std::ranges::find_if(names, [&](std::string_view each) { return rest_.starts_with(each.substr(0, bytes)); });
    fits_ = fits_ && found != names.end();
    if (!fits_) return 0;
    rest_.remove_prefix(found->substr(0, bytes).size());
    return static_cast<unsigned>(found - names.begin());
  }
  // Reads a time such as "08:49:37".
  void time_of_day(DateParts& parts) {
    parts.hour = number(2);
    skip(":");
    parts.minute = number(2);
    skip(":");
    parts.second = number(2);
  }

 private:
  std::string_view rest_;
  bool fits_ = true;
};

// Describes a form of date. IMF-fixdate and the form of RFC 850 differ only in these three points.
struct DateForm {
  size_t day_letters = 0;    // of the name of the day; npos: the full name
  std::string_view between;  // the separator of day, month and year
  size_t year_digits = 0;
};
constexpr DateForm kFixdate{3, " ", 4};                          // "Sun, 06 Nov 1994 08:49:37 GMT"
constexpr DateForm kRfc850Date{std::string_view::npos, "-", 2};  // "Sunday, 06-Nov-94 08:49:37 GMT"

// Reads a date in the form that `form` describes: "Sun, 06 Nov 1994 08:49:37 GMT" or "Sunday, 06-Nov-94 08:49:37 GMT".
bool read_date(std::string_view text, const DateForm& form, DateParts& parts) {
  DateReader reader(text);
  reader.name(kDayNames, form.day_letters);
  reader.skip(", ");
  parts.day = reader.number(2);
  reader.skip(form.between);
  parts.month = reader.name(kMonthNames) + 1;
  reader.skip(form.between);
  parts.year = static_cast<int>(reader.number(form.year_digits));
  reader.skip(" ");
  reader.time_of_day(parts);
  reader.skip(" GMT");
  return reader.at_end();
}

// Reads the form of asctime(): "Sun Nov  6 08:49:37 1994".
bool read_asctime_date(std::string_view text, DateParts& parts) {
  DateReader reader(text);
  reader.name(kDayNames, 3);
  reader.skip(" ");
  parts.month = reader.name(kMonthNames) + 1;
  reader.skip(" ");
  const bool one_digit = reader.begins_with(" ");
  if (one_digit) reader.skip(" ");
  parts.day = reader.number(one_digit ? 1 : 2);
  reader.skip(" ");
  reader.time_of_day(parts);
  reader.skip(" ");
  parts.year = static_cast<int>(reader.number(4));
  return reader.at_end();
}

// Returns the Unix seconds of a date and time, or nullopt if there is no such day or time.
std::optional<int64_t> seconds_of(const DateParts& parts) {
  namespace ch = std::chrono;
  const ch::year_month_day date{ch::year(parts.year), ch::month(parts.month), ch::day(parts.day)};
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60)
    return std::nullopt;  // second 60 is allowed: it is a leap second
  const int64_t day = ch::sys_days(date).time_since_epoch().count();
  return ((day * 24 + parts.hour) * 60 + parts.minute) * 60 + parts.second;
}

// Returns the Unix seconds of a date whose year has two digits. The year is the latest one with these last two digits
// that is at most fifty years after `now` (RFC 9110 5.6.7).
std::optional<int64_t> seconds_of_short_year(DateParts parts, int64_t now) {
  namespace ch = std::chrono;
  const ch::sys_seconds present{ch::seconds(std::clamp(now, kFirstSecond, kLastSecond))};
  const ch::year_month_day today(ch::floor<ch::days>(present));
  const int year = static_cast<int>(today.year());
  parts.year += (year + 50) / 100 * 100;
  if (parts.year > year + 50) parts.year -= 100;
  return seconds_of(parts);
}

void put_two(char* place, unsigned value) {
  place[0] = static_cast<char>('0' + value / 10 % 10);
  place[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::array<char, kHttpDateBytes> format_http_date(int64_t unix_seconds) {
  namespace ch = std::chrono;
  const ch::sys_seconds when{ch::seconds(std::clamp(unix_seconds, kFirstSecond, kLastSecond))};
  const auto day = ch::floor<ch::days>(when);
  const ch::year_month_day date(day);
  const ch::hh_mm_ss time(when - day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  std::array<char, kHttpDateBytes> text;
  std::ranges::copy(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT"), text.begin());
  std::ranges::copy(kDayNames[ch::weekday(day).c_encoding()].substr(0, 3), text.begin());
  put_two(&text[5], static_cast<unsigned>(date.day()));
  std::ranges::copy(kMonthNames[static_cast<unsigned>(date.month()) - 1], &text[8]);
  put_two(&text[12], year / 100);
  put_two(&text[14], year % 100);
  put_two(&text[17], static_cast<unsigned>(time.hours().count()));
  put_two(&text[20], static_cast<unsigned>(time.minutes().count()));
  put_two(&text[23], static_cast<unsigned>(time.seconds().count()));
  return text;
}

std::optional<int64_t> parse_http_date(std::string_view text, int64_t now_unix_seconds) {
  DateParts parts;
  if (read_date(text, kFixdate, parts) || read_asctime_date(text, parts)) return seconds_of(parts);
  if (read_date(text, kRfc850Date, parts)) return seconds_of_short_year(parts, now_unix_seconds);
  return std::nullopt;
}

}  // namespace peal
