// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/doctor_report.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cli/doctor/machine_files.h>

namespace peal::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kMargin = 11;  // verdict and the spaces around it

size_t count(const Findings& findings, Health health) {
  return static_cast<size_t>(std::ranges::count(findings, health, &Finding::health));
}

// `text` in lines of at most kColumns - indent characters, each but the first indented.
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

std::string row(const Finding& found) {
  std::string text = fmt::format("  {:<8} {:<31} {}\n", to_string(found.health), found.name, found.value);
  text += fmt::format("{:{}}{}\n", "", kMargin, wrapped(found.what + ' ' + found.here, kMargin));
  if (!found.mend.empty()) text += fmt::format("{:{}}mend: {}\n", "", kMargin, found.mend);
  return text;
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

std::string doctor_text(const Findings& findings) {
  std::string text;
  std::string_view group;
  for (const Finding& found : findings) {
    if (found.group != group) text += fmt::format("{}{}\n", group.empty() ? "" : "\n", found.group);
    group = found.group;
    text += row(found);
  }
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
