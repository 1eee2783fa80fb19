// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/forms/html_tables.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/forms/human_values.h>
#include <peal/wire/content/html_text.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

bool contains(const auto& range, const auto& value) {
  return std::any_of(range.begin(), range.end(), [&value](const auto& each) { return each == value; });
}

// Returns a bar chart (SVG) of a histogram, which is an array of pairs [upper end, count]. `unit` is that of the upper
// ends, such as "_seconds".
std::string bars(const Json& pairs, std::string_view unit) {
  constexpr double kHeight = 18;
  double most = 1;
  for (const Json& pair : pairs) most = std::max(most, pair.at(1).get<double>());
  std::string text =
      fmt::format("<svg class=\"bars\" role=\"img\" aria-label=\"histogram\" width=\"{}\" height=\"{}\">",
                  pairs.size() * 6, kHeight);
  size_t i = 0;
  for (const Json& pair : pairs) {
    const auto count = pair.at(1).get<double>();
    const double height = count == 0 ? 0 : std::max(1.0, count / most * kHeight);
    text += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"5\" height=\"{:.1f}\"><title>to {}: {}</title></rect>",
                        i++ * 6, kHeight - height, height, human_value(unit, pair.at(0)), count);
  }
  return text + "</svg>";
}

// Returns whether the value is an array of texts. An empty array counts as one.
bool is_text_list(const Json& value) { return value.is_array() && (value.empty() || value.front().is_string()); }

// Returns a link to a page of the inspector. `which` completes the address.
std::string link(std::string_view address, std::string_view which, std::string_view text) {
  return fmt::format("<a href=\"{}{}\">{}</a>", address, which, text);
}

// Returns a link to the page of a method or a route.
std::string link_to_calls(std::string_view kind, const Json& server, const std::string& name) {
  std::string which = server.dump() + "&amp;name=";
  append_http_escaped(name, which);
  return link(fmt::format("/{}?server=", kind), which, html_escaped(name));
}

// Returns the member `key` of `row` as HTML.
std::string cell(std::string_view key, const Json& row) {
  const auto found = row.find(key);
  if (found == row.end()) return {};
  const Json& value = *found;
  const bool of_server = row.contains("server") && row["server"].is_number();
  const std::string named = key_with_unit(key, row);
  if (value.is_array() && !is_text_list(value)) return bars(value, row.contains("unit") ? named : "_seconds");
  if (value.is_string()) {
    const std::string& plain = value.get_ref<const std::string&>();
    if (of_server && (key == "method" || key == "route")) return link_to_calls(key, row["server"], plain);
    const std::string text = html_escaped(plain);
    if (key == "id") return link("/connection/", text, text);
    if (key == "name" && of_server) return link("/server/", row["server"].dump(), text);
    return key == "stack" ? fmt::format("<pre>{}</pre>", text) : text;
  }
  const std::string text = html_escaped(human_value(named, value));
  return key == "connections" && of_server ? link("/connections?server=", row["server"].dump(), text) : text;
}

std::string heading(std::string_view key) { return html_escaped(human_heading(key)); }

// Returns the class attribute of an element that shows a value. Numbers have the class "n". Values have the class "bad"
// if an operator has to act soon: a loop stalls, or a certificate expires within two weeks.
std::string class_of(std::string_view key, const Json& value) {
  constexpr double kSoon = 14 * 86'400;
  const bool ends_soon = key == "certificate_left_seconds" && value.is_number() && value.get<double>() < kSoon;
  const bool bad = ends_soon || value == "STALLED";
  if (!bad && !value.is_number()) return {};
  return fmt::format(" class=\"{}\"", !bad ? "n" : value.is_number() ? "n bad" : "bad");
}

// The columns that a table shows at first, in their order. A table that is not named here shows all members.
struct Columns {
  std::string_view section;
  std::string_view shown;
};
constexpr std::array kColumns{
    Columns{"loops",
            "loop thread engine state busy_share turn_p50_seconds turn_p99_seconds turn_max_seconds turn_histogram "
            "tasks_waiting timers received_bytes sent_bytes stalls"},
    Columns{"servers",
            "server name state connections opened closed refused slow_closes exceptions tasks requests answers_2xx "
            "answers_4xx answers_5xx certificate_left_seconds"},
    Columns{"methods",
            "name method calls under_way failed latency_p50_seconds latency_p99_seconds latency_max_seconds "
            "latency_histogram"},
    Columns{"routes",
            "name route requests answers_2xx answers_4xx answers_5xx latency_p50_seconds latency_p99_seconds "
            "latency_max_seconds latency_histogram"},
    Columns{"slowest", "name route took_seconds ago_seconds request status client"},
    Columns{"connections",
            "id peer state flags age_seconds received_bytes sent_bytes queued_bytes unacknowledged_bytes kept_bytes "
            "round_trip_seconds"},
    Columns{"metrics", "name labels kind value count p50 p99 max histogram help"},
};

// The groups of a list of facts. A name that ends with "_" stands for all names that begin with it. The last group
// takes what no other group names.
struct Group {
  std::string_view section;
  std::string_view title;
  std::string_view members;
};
constexpr std::array kGroups{
    Group{"server", "Connections",
          "server name state connections complete opened closed tasks refused evicted idle_closes slow_closes "
          "bad_messages "
          "exceptions late_calls lost_calls drained drain_forced"},
    Group{"server", "Answers",
          "requests answers_ request_body_bytes response_body_bytes pipelined abandoned handler_exceptions "
          "answered_again"},
    Group{"server", "Refused requests", "malformed tls_hellos too_large unrouted over_budget"},
    Group{"server", "Deadlines", "head_timeouts body_timeouts answer_timeouts idle_timeouts send_timeouts"},
    Group{"server", "TLS", "certificate_left_seconds handshakes_failed layer_"},
    Group{"server", "Memory", "memory_pauses memory_closes kept_bytes"},
    Group{"server", "Other", ""},
    Group{"connection", "Connection", "id peer local state flags age_seconds"},
    Group{"connection", "Bytes", "received_bytes sent_bytes queued_bytes unacknowledged_bytes kept_bytes"},
    Group{"connection", "TLS", "protocol cipher application peer_subject peer_names resumed"},
    Group{"connection", "TCP", ""},
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : std::views::split(text, ' ')) words.emplace_back(std::string_view(word));
  return words;
}

bool is_named(const Group& group, std::string_view key) {
  if (group.members.empty()) return true;
  return std::ranges::any_of(words_of(group.members), [key](const std::string& member) {
    return member.ends_with('_') ? key.starts_with(member) : key == member;
  });
}

// Appends a list of the facts whose names satisfy `chosen`.
void append_facts(std::string& text, const Json& facts, const auto& chosen) {
  text += "<dl class=\"facts\">";
  for (const auto& [key, value] : facts.items()) {
    if (!chosen(key) || is_rows(value)) continue;
    text += fmt::format("<div><dt>{}</dt><dd data-key=\"{}\"{}>{}</dd></div>", heading(key), html_escaped(key),
                        class_of(key, value), cell(key, facts));
  }
  text += "</dl>";
}

void append_object(std::string& text, std::string_view name, const Json& facts) {
  const auto of_section = [name](const Group& group) { return group.section == name; };
  if (std::ranges::none_of(kGroups, of_section)) return append_facts(text, facts, [](const auto&) { return true; });
  const auto group_of = [&](std::string_view key) {
    return std::ranges::find_if(kGroups, [&](const Group& each) { return of_section(each) && is_named(each, key); });
  };
  text += "<div class=\"groups\">";
  for (const Group& group : kGroups | std::views::filter(of_section)) {
    const auto chosen = [&](std::string_view key) { return &*group_of(key) == &group; };
    if (std::ranges::none_of(facts.items(), [&](const auto& item) { return chosen(item.key()); })) continue;
    text += fmt::format("<div><h3>{}</h3>", group.title);
    append_facts(text, facts, chosen);
    text += "</div>";
  }
  text += "</div>";
}

// Appends a table. If `sorts` has the name of a column, its heading is a link that sorts by it.
void append_rows(std::string& text, std::string_view name, const Json& rows, const Json& sorts) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (!is_rows(value) && !contains(keys, key)) keys.push_back(key);
    }
  }
  const auto* first = std::ranges::find(kColumns, name, &Columns::section);
  const std::vector<std::string> all = keys;
  text += "<div class=\"scroll\"><table";
  if (first != kColumns.end()) {
    std::vector<std::string> shown = words_of(first->shown);
    std::erase_if(shown, [&all](const std::string& key) { return !contains(all, key); });
    if (rows.empty() || shown.size() < all.size()) {
      text += fmt::format(" data-columns=\"{}\"", first->shown);
      keys = shown;
    }
  }
  text += "><thead><tr>";
  for (const std::string& key : keys) {
    const std::string title = heading(key);
    const bool number =
        std::ranges::any_of(rows, [&key](const Json& row) { return row.value(key, Json()).is_number(); });
    const bool asks = contains(sorts, title);
    text += fmt::format("<th scope=\"col\" data-key=\"{}\" class=\"{}{}\">", html_escaped(key), number ? "n" : "",
                        asks ? " asks" : "");
    text += asks ? link("?sort=", title, title) : title;
    text += "</th>";
  }
  text += "</tr></thead><tbody>";
  for (const Json& row : rows) {
    text += "<tr>";
    for (const std::string& key : keys) {
      text += fmt::format("<td data-label=\"{}\"{}>{}</td>", heading(key), class_of(key, row.value(key, Json())),
                          cell(key, row));
    }
    text += "</tr>";
  }
  if (rows.empty()) text += "<tr><td>none</td></tr>";
  text += "</tbody></table></div>";
  if (name != "loops" || keys.size() == all.size()) return;
  // A server and a connection have a page of their own. A loop has not, so all its figures are here.
  for (const Json& row : rows) {
    text += fmt::format("<details class=\"more\"><summary>All figures of {}</summary>", cell("thread", row));
    append_facts(text, row, [](const auto&) { return true; });
    text += "</details>";
  }
}

// Returns how many connections match, and how many of these are shown.
std::string matches_html(const Json& object) {
  const auto matched = object["matched"].get<int64_t>();
  const auto shown = static_cast<int64_t>(object["connections"].size());
  std::string text = fmt::format("<p id=\"counts\">{} of {} match", human_number(matched),
                                 human_number(object["total"].get<int64_t>()));
  if (shown < matched) text += fmt::format("; the first {} are shown", human_number(shown));
  if (!object.value("complete", true)) text += ". A loop did not answer: its connections are missing";
  return text + ".</p>";
}

void append_section(std::string& text, std::string_view name, const Json& value, const Json& object) {
  text += fmt::format("<section id=\"{}\"><h2>{}</h2>", html_escaped(name),
                      name == "flight" ? "flight recorder" : html_escaped(section_title(name)));
  if (name == "connections" && object.contains("matched")) text += matches_html(object);
  if (name == "metrics" && object.contains("more_metrics")) {
    text += fmt::format("<p>{} more are <a href=\"/program\">on their page</a>.</p>",
                        human_value({}, object["more_metrics"]));
  }
  if (value.is_object()) {
    append_object(text, name, value);
  } else {
    append_rows(text, name, value, object.value("sorts", Json::array()));
  }
  text += "</section>\n";
}

void append_warnings(std::string& text, const Json& warnings) {
  text += "<section id=\"warnings\"><h2>warnings</h2>";
  text += warnings.empty() ? "<p>No warnings.</p>" : "<ul>";
  for (const Json& warning : warnings) {
    text += fmt::format("<li><a href=\"{}\">{}</a></li>", html_escaped(warning.value("link", "/")),
                        html_escaped(warning.value("what", "")));
  }
  text += warnings.empty() ? "</section>\n" : "</ul></section>\n";
}

// Returns the events of a flight recorder with the time since the event before.
Json with_differences(const Json& flight) {
  Json events = Json::array();
  double before = flight.empty() ? 0 : flight.front().value("ago_seconds", 0.0);
  for (const Json& each : flight) {
    const double ago = each.value("ago_seconds", 0.0);
    events.push_back({{"event", each.value("event", Json())},
                      {"bytes", each.value("bytes", Json())},
                      {"reason", each.value("reason", Json())},
                      {"since_previous_seconds", before - ago},
                      {"ago_seconds", ago}});
    before = ago;
  }
  return events;
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
  constexpr std::array<std::string_view, 4> kNoSections{"warnings", "query", "sorts", "states"};
  std::string text;
  if (const auto warnings = object.find("warnings"); warnings != object.end()) append_warnings(text, *warnings);
  for (const auto& [name, value] : object.items()) {
    if (!value.is_structured() || contains(kNoSections, name)) continue;
    append_section(text, name, name == "flight" ? with_differences(value) : value, object);
    if (!is_rows(value)) continue;
    const Json within = rows_within(value);
    for (const auto& [inner, rows] : within.items()) append_section(text, inner, rows, object);
  }
  return text;
}

}  // namespace peal::detail
