// SPDX-License-Identifier: BSD-3-Clause
// Reads and compares entity tags (RFC 9110 8.8.3). A strong tag is written as "xyzzy", a weak tag as W/"xyzzy". Pure
// functions; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace peal {

struct EntityTag {
  std::string_view opaque;  // the tag with its quotes but without W/; a view into the text that was read
  bool weak = false;        // true if W/ stands before the quotes
};

// Reads a text that is exactly one entity tag. Returns nullopt for any other text, blanks around the tag included.
std::optional<EntityTag> parse_entity_tag(std::string_view text);

// Reads the next tag of a comma-separated list and removes its text from the front of `list`. Returns false if the list
// is empty or if the next element is not an entity tag. In the latter case `list` becomes empty, so the tags after the
// malformed element are ignored.
bool next_entity_tag(std::string_view& list, EntityTag& tag);

// Strong comparison (RFC 9110 8.8.3.2): true if both tags are strong and have the same bytes.
inline bool matches_strongly(const EntityTag& one, const EntityTag& other) {
  return !one.weak && !other.weak && one.opaque == other.opaque;
}

// Weak comparison (RFC 9110 8.8.3.2): true if the tags have the same bytes, whether they are weak or strong.
inline bool matches_weakly(const EntityTag& one, const EntityTag& other) { return one.opaque == other.opaque; }

}  // namespace peal
