// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/html_tables.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/human_values.h>
#include <peal/wire/content/html_text.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

// Returns a bar chart (SVG) of a histogram, which is an array of pairs [upper end in seconds, count].
std::string bars(const Json& pairs) {
  constexpr double kHeight = 18;
  double most = 1;
  for (const Json& pair : pairs) most = std::max(most, pair.at(1).get<double>());
  std::string text = fmt::format("<svg class=\"bars\" width=\"{}\" height=\"{}\">", pairs.size() * 6, kHeight);
  size_t i = 0;
  for (const Json& pair : pairs) {
    const auto count = pair.at(1).get<double>();
    const double height = count == 0 ? 0 : std::max(1.0, count / most * kHeight);
    text += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"5\" height=\"{:.1f}\"><title>to {}: {}</title></rect>",
                        i++ * 6, kHeight - height, height, human_seconds(pair.at(0).get<double>()), count);
  }
  return text + "</svg>";
}

// Returns whether the value is an array of texts. An empty array counts as one.
bool is_text_list(const Json& value) { return value.is_array() && (value.empty() || value.front().is_string()); }

std::string cell(std::string_view key, const Json& value) {
  if (value.is_array() && !is_text_list(value)) return bars(value);
  const std::string text = html_escaped(human_value(key, value));
  if (key == "id") return fmt::format("<a href=\"/connection/{0}\">{0}</a>", text);
  return key == "stack" ? fmt::format("<pre>{}</pre>", text) : text;
}

std::string heading(std::string_view key) { return html_escaped(human_heading(key)); }

// Returns whether the page has to mark this value, because an operator has to act soon: a certificate expires within
// two weeks.
bool needs_attention(std::string_view key, const Json& value) {
  constexpr double kSoon = 14 * 86'400;
  return key == "certificate_left_seconds" && value.is_number() && value.get<double>() < kSoon;
}

void append_rows(std::string& text, const Json& rows) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (!is_rows(value) && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  text += "<thead><tr>";
  for (const std::string& key : keys) text += "<th>" + heading(key) + "</th>";
  text += "</tr></thead><tbody>";
  for (const Json& row : rows) {
    text += "<tr>";
    for (const std::string& key : keys) {
      const bool number = row.contains(key) && row[key].is_number();
      const bool bad = row.contains(key) && needs_attention(key, row[key]);
      text += bad ? "<td class=\"n bad\">" : number ? "<td class=\"n\">" : "<td>";
      if (row.contains(key)) text += cell(key, row[key]);
      text += "</td>";
    }
    text += "</tr>";
  }
  text += "</tbody>";
}

void append_section(std::string& text, std::string_view name, const Json& value) {
  text += fmt::format("<section id=\"{0}\"><h2>{1}</h2><div class=\"scroll\"><table>", name, heading(name));
  if (value.is_array()) {
    append_rows(text, value);
  } else {
    for (const auto& [key, member] : value.items()) {
      text += "<tr><th>" + heading(key) + "</th><td>" + cell(key, member) + "</td></tr>";
    }
  }
  text += value.empty() ? "<tr><td>none</td></tr></table></div></section>\n" : "</table></div></section>\n";
}

// Returns an object with a member for each array of objects that the rows contain, such as "methods". If several rows
// contain an array of the same name, the arrays are joined. In the result, each object begins with the `server` and the
// `name` of the row that contained it.
Json rows_within(const Json& rows) {
  Json found = Json::object();
  for (const Json& outer : rows) {
    for (const auto& [name, value] : outer.items()) {
      if (!is_rows(value)) continue;
      for (const Json& inner : value) {
        Json row{{"server", outer.value("server", Json())}, {"name", outer.value("name", Json())}};
        row.update(inner);
        found[name].push_back(std::move(row));
      }
    }
  }
  return found;
}

}  // namespace

std::string html_tables(const nlohmann::ordered_json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_structured()) continue;
    append_section(text, name, value);
    if (!is_rows(value)) continue;
    const Json within = rows_within(value);
    for (const auto& [inner, rows] : within.items()) append_section(text, inner, rows);
  }
  return text;
}

}  // namespace peal::detail
