// SPDX-License-Identifier: BSD-3-Clause
// Lays out a document of the inspector as HTML. Browsers without scripts show it as it is. With scripts, page/tables.js
// keeps the same elements current. So only this file decides which columns a table shows at first, and which facts form
// a group. All values are escaped, so that no value can add markup.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace peal::detail {

// Returns the HTML of a section for each member of `object` that is an object or an array. The id of the section is the
// name of the member.
//   - "warnings" come first, as a list.
//   - An object becomes a list of facts: <dd data-key="name of the member">. Those of "server" and "connection" are
//     grouped.
//   - An array of objects becomes a table with a row for each object: <td data-label="heading">. If the table shows
//     only some columns at first, their names are in its data-columns.
//   - An array of objects inside such a row, for example "methods" of a server, becomes a section of its own. Its rows
//     begin with the `server` and `name` of the outer row.
//   - "query", "sorts" and "states", which describe the list of connections, become no section.
std::string html_tables(const nlohmann::ordered_json& object);

}  // namespace peal::detail
