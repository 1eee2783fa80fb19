// SPDX-License-Identifier: BSD-3-Clause
// HttpPrecondition: what a request's conditions come to for one representation (RFC 9110 13), and which part of it is
// asked for. Give it each field of the head once; those that are no condition it ignores.
//
//   If-Match, If-Unmodified-Since   ──► kFailed (412): somebody has changed it meanwhile
//   If-None-Match, If-Modified-Since ─► kNotModified (304): the client has it
//   Range, If-Range                 ──► ranges()
//
// Conditions are for requests that would otherwise succeed (RFC 9110 13.2.1). Pure; one thread at a time. It keeps
// views of the Range field, so it is used up before the head is consumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/wire/content/http_range.h>

namespace peal {

struct HttpValidators {
  std::string_view entity_tag;           // as an ETag field would carry it; empty: none
  std::optional<int64_t> last_modified;  // Unix seconds
  int64_t now = 0;                       // Unix seconds
  bool exists = true;                    // false: there is no representation yet, as before a PUT
};

class HttpPrecondition {
 public:
  enum class Answer : uint8_t { kProceed, kNotModified, kFailed };

  explicit HttpPrecondition(const HttpValidators& validators) : validators_(validators) {}

  // One field of the head; `value` without the white space around it.
  void take(std::string_view name, std::string_view value);

  // In the order of RFC 9110 13.2.2. `reads`: the method is GET or HEAD; kNotModified is for them alone.
  Answer answer(bool reads) const;
  // For a GET that is to proceed: what Range asks for of `total_bytes`, unless If-Range forbids it.
  HttpRanges::Answer ranges(uint64_t total_bytes, HttpRanges& ranges) const;

 private:
  enum class Condition : uint8_t { kAbsent, kFalse, kTrue };
  // A field that stands once, or counts for nothing.
  struct SingleField {
    bool seen = false;
    Condition condition = Condition::kAbsent;
  };

  bool lists_current_tag(std::string_view list, bool strongly) const;
  void take_date(SingleField& field, std::string_view value, bool wants_change);
  bool if_range_holds(std::string_view if_range) const;

  const HttpValidators validators_;
  Condition match_ = Condition::kAbsent;
  Condition none_match_ = Condition::kAbsent;
  SingleField modified_since_;
  SingleField unmodified_since_;
  bool range_seen_ = false;
  bool if_range_seen_ = false;
  bool range_allowed_ = true;
  std::string_view range_;
};

}  // namespace peal
