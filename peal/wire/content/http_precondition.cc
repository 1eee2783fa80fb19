// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_precondition.h>

#include <utility>

#include <peal/wire/content/entity_tag.h>
#include <peal/wire/content/http_date.h>
#include <peal/wire/parts/http_text.h>

namespace peal {

using detail::equals_lower;
using detail::is_word;

void HttpPrecondition::take(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 5:
      if (!equals_lower(name, "range")) break;
      if (std::exchange(range_seen_, true)) range_allowed_ = false;
      range_ = value;
      break;
    case 8:
      if (is_word(name, "if-match")) {
        if (match_ != Condition::kTrue) match_ = lists_current_tag(value, true) ? Condition::kTrue : Condition::kFalse;
      } else if (is_word(name, "if-range")) {
        if (std::exchange(if_range_seen_, true) || !if_range_holds(value)) range_allowed_ = false;
      }
      break;
    case 13:
      if (!is_word(name, "if-none-match")) break;
      if (none_match_ != Condition::kFalse) {
        none_match_ = lists_current_tag(value, false) ? Condition::kFalse : Condition::kTrue;
      }
      break;
    case 17:
      if (is_word(name, "if-modified-since")) take_date(modified_since_, value, true);
      break;
    case 19:
      if (is_word(name, "if-unmodified-since")) take_date(unmodified_since_, value, false);
      break;
    default: break;
  }
}

// `strongly` is true for If-Match (RFC 9110 13.1.1) and false for If-None-Match (RFC 9110 13.1.2), which compares
// weakly. The list "*" matches any representation that exists.
bool HttpPrecondition::lists_current_tag(std::string_view list, bool strongly) const {
  if (list == "*") return validators_.exists;
  const auto ours = parse_entity_tag(validators_.entity_tag);
  if (!ours || !validators_.exists) return false;
  for (EntityTag tag; next_entity_tag(list, tag);) {
    if (strongly ? matches_strongly(tag, *ours) : matches_weakly(tag, *ours)) return true;
  }
  return false;
}

// Ignores the field if its value is not a date or if the request has the field twice. Also ignores it if the
// representation does not exist or has no date (RFC 9110 13.1.3, 13.1.4).
void HttpPrecondition::take_date(SingleField& field, std::string_view value, bool wants_change) {
  const bool again = std::exchange(field.seen, true);
  const auto date = parse_http_date(value, validators_.now);
  field.condition = Condition::kAbsent;
  if (again || !date || !validators_.last_modified || !validators_.exists) return;
  const bool changed = *validators_.last_modified > *date;
  field.condition = changed == wants_change ? Condition::kTrue : Condition::kFalse;
}

// If-Range contains an entity tag or a date (RFC 9110 13.1.5). A date must be equal to that of the representation and
// must be a strong validator (RFC 9110 8.8.2.2). A date that is at most one second old is not strong, because the
// representation may change again and keep its date.
bool HttpPrecondition::if_range_holds(std::string_view if_range) const {
  if (const auto tag = parse_entity_tag(if_range)) {
    const auto ours = parse_entity_tag(validators_.entity_tag);
    return ours && matches_strongly(*tag, *ours);
  }
  if (!validators_.last_modified || *validators_.last_modified >= validators_.now - 1) return false;
  return parse_http_date(if_range, validators_.now) == validators_.last_modified;
}

HttpPrecondition::Answer HttpPrecondition::answer(bool reads) const {
  if (match_ != Condition::kAbsent) {
    if (match_ == Condition::kFalse) return Answer::kFailed;
  } else if (unmodified_since_.condition == Condition::kFalse) {
    return Answer::kFailed;
  }
  if (none_match_ == Condition::kFalse) {
    return reads ? Answer::kNotModified : Answer::kFailed;
  }
  const bool by_date = none_match_ == Condition::kAbsent && reads;
  if (by_date && modified_since_.condition == Condition::kFalse) return Answer::kNotModified;
  return Answer::kProceed;
}

HttpRanges::Answer HttpPrecondition::ranges(uint64_t total_bytes, HttpRanges& ranges) const {
  return range_seen_ && range_allowed_ ? ranges.read(range_, total_bytes) : HttpRanges::Answer::kWhole;
}

}  // namespace peal
