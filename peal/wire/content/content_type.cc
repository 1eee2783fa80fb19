// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_type.h>

#include <algorithm>

#include <peal/wire/http/http_field.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

void skip_blanks(std::string_view& text) {
  while (!text.empty() && detail::is_blank(text.front())) text.remove_prefix(1);
}

// Sets `inside` to the text before the closing quote, and removes that text and the quote from `text`. `text` must
// begin after the opening quote. Returns false if there is no closing quote.
bool take_quoted(std::string_view& text, std::string_view& inside, Backslash backslash) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && backslash == Backslash::kHidesQuote) {
      ++at;
    } else if (text[at] == '"') {
      inside = text.substr(0, at);
      text.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view split_parameters(std::string_view field_value, std::string_view& rest) {
  const size_t end = std::min(field_value.find(';'), field_value.size());
  rest = field_value.substr(end);
  return detail::trim(field_value.substr(0, end));
}

bool is_content_type(std::string_view field_value, std::string_view type) {
  std::string_view rest;
  return same_field_name(split_parameters(field_value, rest), type);
}

bool next_field_parameter(std::string_view& rest, FieldParameter& parameter, Backslash backslash) {
  skip_blanks(rest);
  while (rest.starts_with(';')) {
    rest.remove_prefix(1);
    skip_blanks(rest);
    if (rest.empty() || rest.front() == ';') continue;
    std::string_view after = rest;
    const size_t end = std::min(after.find_first_of("=;"), after.size());
    const std::string_view name = after.substr(0, end);
    after.remove_prefix(end);
    if (!detail::is_token(name) || !after.starts_with('=')) return false;
    after.remove_prefix(1);
    const bool quoted = after.starts_with('"');
    std::string_view value;
    if (quoted) {
      after.remove_prefix(1);
      if (!take_quoted(after, value, backslash)) return false;
      skip_blanks(after);
    } else {
      const size_t value_end = std::min(after.find(';'), after.size());
      value = detail::trim(after.substr(0, value_end));
      after.remove_prefix(value_end);
      if (!detail::is_token(value)) return false;
    }
    if (!after.empty() && after.front() != ';') return false;
    parameter = {name, value, quoted};
    rest = after;
    return true;
  }
  return false;
}

std::optional<std::string> find_parameter(std::string_view field_value, std::string_view name) {
  std::string_view rest;
  split_parameters(field_value, rest);
  for (FieldParameter parameter; next_field_parameter(rest, parameter);) {
    if (!same_field_name(parameter.name, name)) continue;
    std::string value;
    for (size_t at = 0; at < parameter.value.size(); ++at) {
      // A character follows each backslash: a backslash at the end of a quoted value would have escaped the closing
      // quote.
      if (parameter.quoted && parameter.value[at] == '\\') ++at;
      value.push_back(parameter.value[at]);
    }
    return value;
  }
  return std::nullopt;
}

}  // namespace peal
