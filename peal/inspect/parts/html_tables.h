// SPDX-License-Identifier: BSD-3-Clause
// JSON as HTML tables, for readers without a script; page/inspector.js writes the same ones. Whatever the values
// hold is text.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace peal::detail {

// Each member of the object that is an object or an array of objects becomes a section with its name: an object a row
// for each member, an array a row for each object. An array of objects inside a row, "methods" of a server, becomes a
// section of its own behind it. Its rows begin with `server` and `name` of the row that they stood in.
std::string html_tables(const nlohmann::ordered_json& object);

}  // namespace peal::detail
