// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/forms/human_values.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

// Returns a number of bytes in the form that people read: 1234567 becomes "1.177 MiB".
std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits.at(unit));
}

std::string number_text(std::string_view key, const Json& value) {
  constexpr std::array<std::string_view, 5> kNames{"pid", "parent", "thread_id", "standard", "fmt"};
  if (std::ranges::find(kNames, key) != kNames.end()) return value.dump();
  const auto figure = value.get<double>();
  if (key.ends_with("_bytes")) return human_bytes(figure);
  if (key.ends_with("_seconds")) return human_seconds(figure);
  if (key.ends_with("_share")) return fmt::format("{:.1f} %", figure * 100);
  if (value.is_number_float() && std::abs(figure) < 1000) return fmt::format("{:.4g}", figure);
  return human_number(std::llround(figure));
}

// Returns the values with commas between them, those of an object with their names: "kind=buy, shop=1".
std::string joined(const Json& values) {
  std::string text;
  for (const auto& [name, each] : values.items()) {
    if (!text.empty()) text += ", ";
    if (values.is_object()) text += name + "=";
    text += human_value({}, each);
  }
  return text;
}

}  // namespace

std::string human_number(int64_t number) {
  std::string text = fmt::format("{}", number);
  const size_t first = text.starts_with('-') ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string human_seconds(double seconds) {
  if (seconds < 0) return "-" + human_seconds(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.4g} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole < 86'400) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{} d {} h", whole / 86'400, whole / 3600 % 24);
}

std::string human_value(std::string_view key, const nlohmann::ordered_json& value) {
  if (value.is_structured()) return joined(value);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? number_text(key, value) : std::string();
}

std::string human_heading(std::string_view key) {
  for (const std::string_view unit : {"_bytes", "_seconds"}) {
    if (key.ends_with(unit)) key.remove_suffix(unit.size());
  }
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string section_title(std::string_view name) {
  return name == "metrics" ? "this program's metrics" : human_heading(name);
}

std::string key_with_unit(std::string_view key, const nlohmann::ordered_json& row) {
  constexpr std::array<std::string_view, 6> kFigures{"value", "sum", "p50", "p99", "max", "histogram"};
  std::string name(key);
  const auto unit = row.find("unit");
  if (unit == row.end() || !unit->is_string() || std::ranges::find(kFigures, key) == kFigures.end()) return name;
  const auto& text = unit->get_ref<const std::string&>();
  return text.empty() ? name : name + "_" + text;
}

bool is_rows(const nlohmann::ordered_json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

}  // namespace peal::detail
