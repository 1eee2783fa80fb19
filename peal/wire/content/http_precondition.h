// SPDX-License-Identifier: BSD-3-Clause
// HttpPrecondition: evaluates the conditions of a request (RFC 9110 13) for one representation, and finds the part of
// the representation that the request asks for. Give each field of the head to take(), in any order; fields that are no
// conditions are ignored.
//
//   If-Match, If-Unmodified-Since    ──► kFailed (412): the representation has changed
//   If-None-Match, If-Modified-Since ──► kNotModified (304): the client already has the representation
//   Range, If-Range                  ──► ranges()
//
// Use the answer only for a request that would succeed without conditions (RFC 9110 13.2.1). No I/O; one thread at a
// time. The object keeps views of the Range field and of HttpValidators::entity_tag. Both must live as long as the
// object is used, so use it before the head of the request is consumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/wire/content/http_range.h>

namespace peal {

// The current state of the representation, with which the conditions are compared.
struct HttpValidators {
  std::string_view entity_tag;           // the value of the ETag field; empty: the representation has no tag
  std::optional<int64_t> last_modified;  // in Unix seconds; nullopt: the time is not known
  int64_t now = 0;                       // the current time in Unix seconds
  bool exists = true;                    // false if there is no representation yet, as before a PUT that creates it
};

class HttpPrecondition {
 public:
  enum class Answer : uint8_t {
    kProceed,      // answer the request as if it had no conditions
    kNotModified,  // answer 304
    kFailed,       // answer 412
  };

  explicit HttpPrecondition(const HttpValidators& validators) : validators_(validators) {}

  // Reads one field of the request's head, and ignores fields that this class does not evaluate. `value` must have no
  // white space around it.
  void take(std::string_view name, std::string_view value);

  // Evaluates the conditions in the order of RFC 9110 13.2.2. `reads` must be true if the method is GET or HEAD, and
  // false for any other method. If `reads` is false, If-Modified-Since is ignored, and an If-None-Match that does not
  // hold gives kFailed instead of kNotModified.
  Answer answer(bool reads) const;

  // Reads the Range field for a representation of `total_bytes`; see HttpRanges::read(). Call it for a GET for which
  // answer() returned kProceed. Returns kWhole if the request does not have exactly one Range field, if it has several
  // If-Range fields, or if If-Range does not hold.
  HttpRanges::Answer ranges(uint64_t total_bytes, HttpRanges& ranges) const;

 private:
  enum class Condition : uint8_t { kAbsent, kFalse, kTrue };
  // The result of reading If-Modified-Since or If-Unmodified-Since. If the request has such a field several times, the
  // field is ignored.
  struct SingleField {
    bool seen = false;
    Condition condition = Condition::kAbsent;
  };

  // True if the list of entity tags names the tag of the representation, or if the list is "*" and the representation
  // exists.
  bool lists_current_tag(std::string_view list, bool strongly) const;
  // Evaluates If-Modified-Since (`wants_change` is true) or If-Unmodified-Since (`wants_change` is false). The first
  // holds if the representation changed after the date in `value`, the second if it did not.
  void take_date(SingleField& field, std::string_view value, bool wants_change);
  // True if the validator in If-Range is that of the current representation.
  bool if_range_holds(std::string_view if_range) const;

  const HttpValidators validators_;
  Condition match_ = Condition::kAbsent;
  Condition none_match_ = Condition::kAbsent;
  SingleField modified_since_;
  SingleField unmodified_since_;
  bool range_seen_ = false;
  bool if_range_seen_ = false;
  bool range_allowed_ = true;  // false if Range or If-Range came twice, or if If-Range does not hold
  std::string_view range_;
};

}  // namespace peal
