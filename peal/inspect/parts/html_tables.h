// SPDX-License-Identifier: BSD-3-Clause
// Writes JSON as HTML tables, for browsers that run no script. page/inspector.js writes the same tables. All values are
// escaped, so that no value can add markup.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace peal::detail {

// Returns the HTML of a section for each member of `object` that is an object or an array.
//   - An object becomes a table with a row for each of its members.
//   - An array of objects becomes a table with a row for each object.
//   - An array of objects inside such a row, for example "methods" of a server, becomes a section of its own. Its rows
//     begin with the `server` and `name` of the outer row.
std::string html_tables(const nlohmann::ordered_json& object);

}  // namespace peal::detail
