// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/forms/text_tables.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/forms/human_values.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostWidth = 160;
constexpr size_t kGap = 2;  // between two columns

// A table of texts. Each row has as many texts as there are columns.
struct Cells {
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> numbers;  // for each column, whether it is set to the right
};

// Returns the number of characters of a UTF-8 text.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<size_t> widths_of(const Cells& cells) {
  std::vector<size_t> widths(cells.numbers.size());
  for (const auto& row : cells.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

size_t total_width(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), widths.size() * kGap);
}

// A text of several lines, or with control characters, would break the table.
std::string on_one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  return text;
}

Cells turned(const Cells& cells) {
  Cells other{.rows = std::vector(cells.numbers.size(), std::vector<std::string>(cells.rows.size())),
              .numbers = std::vector<bool>(cells.rows.size(), true)};
  for (size_t i = 0; i < cells.rows.size(); ++i) {
    for (size_t j = 0; j < cells.rows[i].size(); ++j) other.rows[j][i] = cells.rows[i][j];
  }
  other.numbers[0] = false;
  return other;
}

// Drops columns at the right until the table is narrow enough. Returns how many were dropped.
size_t narrow(Cells& cells) {
  std::vector<size_t> widths = widths_of(cells);
  const size_t before = widths.size();
  while (widths.size() > 1 && total_width(widths) > kMostWidth) widths.pop_back();
  cells.numbers.resize(widths.size());
  for (auto& row : cells.rows) row.resize(widths.size());
  return before - widths.size();
}

void write(std::string& text, const Cells& cells) {
  const std::vector<size_t> widths = widths_of(cells);
  for (const auto& row : cells.rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string filler(widths[i] - width_of(row[i]) + (i == 0 ? 0 : kGap), ' ');
      if (cells.numbers[i]) {
        line += filler + row[i];
      } else {
        line += std::string(i == 0 ? 0 : kGap, ' ') + row[i] + std::string(widths[i] - width_of(row[i]), ' ');
      }
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
}

// Members that are shown as a table of their own or below the table have no column, and histograms have none.
bool has_column(std::string_view key, const Json& value) {
  return key != "stack" && (!value.is_array() || value.empty() || value.front().is_string());
}

Cells cells_of(const Json& rows) {
  Cells cells{.rows = {{}}, .numbers = {}};
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    // A member that earlier rows lack gets its column behind that of the member before it.
    std::ptrdiff_t next = 0;
    for (const auto& [key, value] : row.items()) {
      if (!has_column(key, value)) continue;
      const auto found = std::ranges::find(keys, key);
      const bool is_new = found == keys.end();
      if (!is_new) next = found - keys.begin();
      if (is_new) {
        keys.insert(keys.begin() + next, key);
        cells.rows.front().insert(cells.rows.front().begin() + next, human_heading(key));
        cells.numbers.insert(cells.numbers.begin() + next, value.is_number());
      }
      ++next;
    }
  }
  for (const Json& row : rows) {
    auto& texts = cells.rows.emplace_back();
    for (const std::string& key : keys)
      texts.push_back(on_one_line(human_value(key_with_unit(key, row), row.value(key, Json()))));
  }
  return cells;
}

void write_rows(std::string& text, const Json& rows) {
  Cells cells = cells_of(rows);
  size_t dropped = 0;
  if (total_width(widths_of(cells)) > kMostWidth) {
    Cells columns = turned(cells);
    if (total_width(widths_of(columns)) <= kMostWidth) {
      cells = std::move(columns);
    } else {
      dropped = narrow(cells);
    }
  }
  write(text, cells);
  if (dropped > 0) text += fmt::format("({} more columns; ?format=json has them)\n", dropped);
  for (const Json& row : rows) {
    if (const std::string stack = row.value("stack", std::string()); !stack.empty()) text += "\n" + stack + "\n";
  }
}

void write_members(std::string& text, const Json& object) {
  Cells cells{.rows = {}, .numbers = {false, false}};
  for (const auto& [key, value] : object.items()) {
    if (has_column(key, value)) cells.rows.push_back({human_heading(key), on_one_line(human_value(key, value))});
  }
  write(text, cells);
}

void write_section(std::string& text, std::string_view name, const Json& value);

// Appends a table for each array of objects that the rows contain, such as the methods of servers.
void write_inner(std::string& text, const Json& rows) {
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (!is_rows(value)) continue;
      write_section(text, fmt::format("{} of {}", key, on_one_line(row.value("name", std::string()))), value);
    }
  }
}

void write_section(std::string& text, std::string_view name, const Json& value) {
  text += fmt::format("{}{}\n", text.empty() ? "" : "\n", section_title(name));
  if (value.empty()) {
    text += "none\n";
  } else if (value.is_object()) {
    write_members(text, value);
  } else {
    write_rows(text, value);
    write_inner(text, value);
  }
}

// Returns how many connections match a query.
std::string matches_text(const Json& object) {
  std::string text = fmt::format("{} of {} connections match", human_value({}, object["matched"]),
                                 human_value({}, object.value("total", Json())));
  if (!object.value("complete", true)) text += "; a loop did not answer, so its connections are missing";
  return text + "\n";
}

}  // namespace

std::string text_tables(const nlohmann::ordered_json& object) {
  std::string text;
  if (object.contains("matched")) text = matches_text(object);
  for (const auto& [name, value] : object.items()) {
    if (name == "query") continue;
    if (is_rows(value) || value.is_object() || (value.is_array() && value.empty())) write_section(text, name, value);
    if (name == "metrics" && object.contains("more_metrics")) {
      text += fmt::format("({} more; /program has them)\n", human_value({}, object["more_metrics"]));
    }
  }
  return text;
}

}  // namespace peal::detail
