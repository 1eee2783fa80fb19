// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/doctor_report.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cli/doctor/machine_files.h>

namespace peal::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kMargin = 11;  // columns of a verdict such as "unknown" and the spaces around it

size_t count(const Findings& findings, Health health) {
  return static_cast<size_t>(std::ranges::count(findings, health, &Finding::health));
}

// Breaks `text` into lines that end at column kColumns at the latest. The first line will be printed from column
// `indent` on. All other lines start with `indent` spaces.
std::string wrapped(std::string_view text, size_t indent) {
  std::string lines;
  size_t column = indent;
  for (std::string_view word : words_of(text)) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      lines += fmt::format("\n{:{}}", "", indent);
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string painted(Health health, load::Paint paint) {
  std::string word = fmt::format("{:<8}", to_string(health));
  switch (health) {
    case Health::kOk: return paint.good(word);
    case Health::kLimits: return paint.warning(word);
    case Health::kBad: return paint.bad(word);
    case Health::kUnknown: return word;
  }
  return word;
}

std::string row(const Finding& found, load::Paint paint) {
  std::string text = fmt::format("  {} {:<31} {}\n", painted(found.health, paint), found.name, found.value);
  text += fmt::format("{:{}}{}\n", "", kMargin, wrapped(found.what + ' ' + found.here, kMargin));
  if (!found.mend.empty()) text += fmt::format("{:{}}fix: {}\n", "", kMargin, found.mend);
  return text;
}

std::string all_well(const Findings& findings, load::Paint paint) {
  std::string text;
  std::string_view group;
  for (const Finding& found : findings) {
    if (found.health != Health::kOk) continue;
    if (found.group != group) text += fmt::format("\n{}\n", paint.heading(found.group));
    group = found.group;
    text += row(found, paint);
  }
  return text;
}

std::string names_of_well(const Findings& findings, load::Paint paint) {
  std::vector<std::string_view> names;
  for (const Finding& found : findings) {
    if (found.health == Health::kOk) names.push_back(found.name);
  }
  if (names.empty()) return {};
  const std::string list = fmt::format("{} (explained by --all)", fmt::join(names, ", "));
  return fmt::format("  {} {}\n", painted(Health::kOk, paint), wrapped(list, kMargin));
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kLimits: return "limits";
    case Health::kBad: return "bad";
    case Health::kUnknown: return "unknown";
  }
  return "";
}

std::string doctor_text(const Findings& findings, bool whole, load::Paint paint) {
  std::string text;
  for (const Health health : {Health::kBad, Health::kLimits, Health::kUnknown}) {
    for (const Finding& found : findings) {
      if (found.health == health) text += row(found, paint);
    }
  }
  text += whole ? all_well(findings, paint) : names_of_well(findings, paint);
  return text + fmt::format("\n{} ok, {} limits, {} bad, {} not readable here. Nothing was changed.\n",
                            count(findings, Health::kOk), count(findings, Health::kLimits),
                            count(findings, Health::kBad), count(findings, Health::kUnknown));
}

std::string doctor_json(const Findings& findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& found : findings) {
    rows.push_back({{"group", found.group},
                    {"name", found.name},
                    {"value", found.value},
                    {"what", found.what},
                    {"here", found.here},
                    {"verdict", to_string(found.health)},
                    {"mend", found.mend}});
  }
  const nlohmann::ordered_json all = {{"schema", 1},
                                      {"ok", count(findings, Health::kOk)},
                                      {"limits", count(findings, Health::kLimits)},
                                      {"bad", count(findings, Health::kBad)},
                                      {"unknown", count(findings, Health::kUnknown)},
                                      {"findings", std::move(rows)}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace peal::cli
