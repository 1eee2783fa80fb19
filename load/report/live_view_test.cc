// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/live_view.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/sample_record.h>

namespace peal::load {
namespace {

using testing::HasSubstr;
using testing::Not;

LoadOptions minute() {
  LoadOptions options;
  options.duration = std::chrono::seconds(60);
  return options;
}

// Returns how many columns a text needs. Block characters have several bytes, but need one column.
size_t columns_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

LiveView view_of(const std::vector<uint64_t>& rates) {
  LiveView view;
  for (size_t i = 0; i < rates.size(); ++i) view.add(sample_interval(static_cast<int>(i), rates[i], false));
  return view;
}

TEST(LiveView, a_wide_line_shows_everything) {
  const std::string line = view_of({0, 1'000'000, 2'000'000}).line(minute(), 200, true);
  EXPECT_EQ(line,
            "3.0/60 s  ▁▅█  2,000,000/s  in flight 2  p50 1.00 us  p99 1.00 us  p99.9 1.00 us  max 1.00 us  errors 0");
  EXPECT_THAT(view_of({0, 1'000'000, 2'000'000}).line(minute(), 200, false), HasSubstr("  _=#  "));
}

TEST(LiveView, a_narrow_terminal_gets_what_matters_most) {
  LiveView view = view_of(std::vector<uint64_t>(100, 123'456));
  for (size_t columns = 20; columns < 250; ++columns) {
    EXPECT_LE(columns_of(view.line(minute(), columns, true)), columns);
    EXPECT_THAT(view.line(minute(), columns, true), HasSubstr("123,456/s"));
  }
  EXPECT_THAT(view.line(minute(), 60, false), Not(HasSubstr("max")));
  Interval broken = sample_interval(100, 5, false);
  broken.failures = 7;
  view.add(broken);
  EXPECT_THAT(view.line(minute(), 30, false), HasSubstr("errors 7"))
      << "failures are more important than the other items";
}

TEST(LiveView, a_rate_of_nothing_draws_no_bar) {
  EXPECT_THAT(view_of({0, 0}).line(minute(), 200, true), HasSubstr("▁▁  0/s"));
  EXPECT_THAT(LiveView().line(minute(), 200, true), HasSubstr("0/s"));
}

}  // namespace
}  // namespace peal::load
