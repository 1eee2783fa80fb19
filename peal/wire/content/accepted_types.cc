// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/accepted_types.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include <peal/wire/content/content_type.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parts/http_text.h>
#include <peal/wire/parts/quality.h>

namespace peal {
namespace {

bool is_weight(const FieldParameter& parameter) { return same_field_name(parameter.name, "q"); }

bool is_media_range(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  return detail::is_token(text.substr(0, slash)) && detail::is_token(text.substr(std::min(slash + 1, text.size())));
}

// Returns the weight of a media range in thousandths: the value of the parameter "q", or 1000 if there is no "q".
// Returns nullopt if the parameters are malformed.
std::optional<int> weight_of(std::string_view parameters) {
  int weight = detail::kFullQuality;
  for (FieldParameter parameter; next_field_parameter(parameters, parameter);) {
    if (!is_weight(parameter)) continue;
    const auto said = detail::read_quality(parameter.value);
    if (!said) return std::nullopt;
    weight = *said;
  }
  return parameters.empty() ? std::optional(weight) : std::nullopt;
}

// Returns how specifically a media range matches a type: 2 for "text/html", 1 for "text/*", 0 for "*/*". Returns -1 if
// the range does not match. Both texts must be without parameters.
int exactness_of(std::string_view range, std::string_view type) {
  if (same_field_name(range, type)) return 2;
  if (range == "*/*") return 0;
  const bool whole =
      range.ends_with("/*") &&
      same_field_name(range.substr(0, range.size() - 1), type.substr(0, std::min(type.find('/'), type.size()) + 1));
  return whole ? 1 : -1;
}

// Returns the number of parameters that a media range and a type have in common. Returns -1 if they have a parameter of
// one name with different values. The weight "q" of the range is not counted.
int parameters_in_common(std::string_view range, std::string_view type) {
  int count = 0;
  for (FieldParameter parameter; next_field_parameter(range, parameter);) {
    if (is_weight(parameter)) continue;
    std::string_view rest = type;
    for (FieldParameter own; next_field_parameter(rest, own);) {
      if (!same_field_name(own.name, parameter.name)) continue;
      if (!same_field_name(own.value, parameter.value)) return -1;
      ++count;
    }
  }
  return count;
}

}  // namespace

void AcceptedTypes::take(std::string_view value) {
  seen_ = true;
  for (std::string_view element; next_list_element(value, element);) {
    std::string_view parameters;
    const std::string_view type = split_parameters(element, parameters);
    const auto weight = weight_of(parameters);
    if (weight && is_media_range(type)) ranges_.push_back({type, parameters, *weight});
  }
}

AcceptedTypes::Verdict AcceptedTypes::judge(std::string_view type) const {
  if (!seen_) return {.quality = detail::kFullQuality, .exactness = 0};
  std::string_view parameters;
  const std::string_view name = split_parameters(type, parameters);
  Verdict verdict;
  for (const Range& range : ranges_) {
    const int named = exactness_of(range.type, name);
    const int common = parameters_in_common(range.parameters, parameters);
    if (named < 0 || common < 0) continue;
    const int exactness = named + common;
    if (exactness > verdict.exactness) verdict = {range.quality, exactness};
  }
  return verdict;
}

size_t AcceptedTypes::choose(std::initializer_list<std::string_view> types) const {
  size_t best = 0;
  Verdict its;
  for (size_t at = 0; at < types.size(); ++at) {
    const Verdict next = judge(types.begin()[at]);
    if (next.quality == 0) continue;
    if (std::tie(next.quality, next.exactness) <= std::tie(its.quality, its.exactness)) continue;
    best = at;
    its = next;
  }
  return best;
}

}  // namespace peal
