// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/live_view.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <load/report/report_text.h>

namespace peal::load {
namespace {

constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAscii{"_", ".", ",", "-", "=", "+", "*", "#"};
constexpr size_t kFewestBars = 4;

}  // namespace

void LiveView::add(const Interval& interval) {
  last_ = interval;
  failures_ += interval.failures;
  rates_.push_back(interval.messages_per_s());
  if (rates_.size() > kMostBars) rates_.pop_front();
}

std::string LiveView::bars(size_t count, bool utf8) const {
  const auto& signs = utf8 ? kBlocks : kAscii;
  const size_t shown = std::min(count, rates_.size());
  const auto first = rates_.end() - static_cast<ptrdiff_t>(shown);
  const double tallest = shown == 0 ? 0 : *std::max_element(first, rates_.end());
  std::string text;
  for (auto rate = first; rate != rates_.end(); ++rate) {
    const double height = tallest > 0 ? *rate / tallest * static_cast<double>(signs.size() - 1) : 0;
    text += signs.at(static_cast<size_t>(std::lround(height)));
  }
  return text;
}

std::string LiveView::line(const LoadOptions& options, size_t columns, bool utf8) const {
  const auto time = [](int64_t ns) { return human_time(static_cast<double>(ns)); };
  // A part of the status line. If the line is too long, parts are left out. The part with the lowest `want` is left out
  // first.
  struct Item {
    std::string text;
    int want;
  };
  std::vector<Item> items{
      {fmt::format("{:.1f}/{:.0f} s", in_seconds(last_.to), in_seconds(options.duration)), 5},
      {fmt::format("{}/s", human_rate(last_.messages_per_s())), 9},
      {fmt::format("in flight {}", human_count(last_.in_flight)), 3},
      {fmt::format("p50 {}", time(last_.p50_ns)), 6},
      {fmt::format("p99 {}", time(last_.p99_ns)), 7},
      {fmt::format("p99.9 {}", time(last_.p999_ns)), 2},
      {fmt::format("max {}", time(last_.max_ns)), 1},
      {fmt::format("errors {}", human_count(failures_)), failures_ > 0 ? 8 : 4},
  };
  const auto width = [&items] {
    size_t sum = 0;
    for (const Item& item : items) sum += item.text.size() + 2;
    return sum - std::min<size_t>(sum, 2);
  };
  while (items.size() > 1 && width() > columns) {
    items.erase(std::ranges::min_element(items, {}, [](const Item& item) { return item.want; }));
  }
  const size_t room = columns > width() + 2 ? columns - width() - 2 : 0;
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "" : "  ";
    text += items[i].text;
    if (i == 0 && room >= kFewestBars) text += "  " + bars(std::min(room, kMostBars), utf8);
  }
  return text.size() > columns && room < kFewestBars ? text.substr(0, columns) : text;
}

}  // namespace peal::load
