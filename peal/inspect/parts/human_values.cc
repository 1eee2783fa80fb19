// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/human_values.h>

#include <algorithm>
#include <array>

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
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", bytes, kUnits.at(unit));
}

std::string joined(const Json& values) {
  std::string text;
  for (const Json& each : values) text += (text.empty() ? "" : ", ") + human_value({}, each);
  return text;
}

}  // namespace

std::string human_seconds(double seconds) {
  if (seconds < 0) return "-" + human_seconds(-seconds);
  if (seconds == 0) return "0";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.4g} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole < 86'400) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{} d {} h", whole / 86'400, whole / 3600 % 24);
}

std::string human_value(std::string_view key, const nlohmann::ordered_json& value) {
  if (value.is_array()) return joined(value);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return {};
  if (key.ends_with("_bytes")) return human_bytes(value.get<double>());
  if (key.ends_with("_seconds")) return human_seconds(value.get<double>());
  if (key.ends_with("_share")) return fmt::format("{:.1f} %", value.get<double>() * 100);
  return value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : value.dump();
}

std::string human_heading(std::string_view key) {
  for (const std::string_view unit : {"_bytes", "_seconds"}) {
    if (key.ends_with(unit)) key.remove_suffix(unit.size());
  }
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return text;
}

bool is_rows(const nlohmann::ordered_json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

}  // namespace peal::detail
