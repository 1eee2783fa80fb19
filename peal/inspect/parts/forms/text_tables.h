// SPDX-License-Identifier: BSD-3-Clause
// Writes the inspector's JSON as text for a terminal, which `curl` shows.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace peal::detail {

// Returns a table for each object and each array of objects among the members of `object`, under the member's name. An
// array whose table would be wider than 160 characters becomes one column for each of its objects. If these would be
// wider, too, the table has the first members only, and says how many are missing. A list of connections begins with
// how many match its query.
std::string text_tables(const nlohmann::ordered_json& object);

}  // namespace peal::detail
