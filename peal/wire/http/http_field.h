// SPDX-License-Identifier: BSD-3-Clause
// HttpField is one field of an HTTP message: a header or a trailer line (RFC 9110 5). The functions of this file check,
// write and split fields. Pure functions; any thread.
#pragma once

#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

// A pair of views. The function that returns an HttpField says how long the views are valid.
struct HttpField {
  std::string_view name;   // a token; upper and lower case are equal
  std::string_view value;  // has no white space around it
};

// Returns true if the name is a token and the value contains no control character except HTAB (RFC 9110 5.5). CR or LF
// in a value would let the source of the value add header lines of its own (response splitting).
bool is_sendable(const HttpField& field);

// Appends "name: value" and CR LF. Returns false and appends nothing if the field is not sendable.
template <class Text>
[[nodiscard]] bool append_http_field(Text& text, std::string_view name, std::string_view value) {
  if (!is_sendable({name, value})) return false;
  text.append(name);
  text.append(std::string_view(": "));
  text.append(value);
  text.append(std::string_view("\r\n"));
  return true;
}

// Removes the first field from `lines` and sets `field` to views of its name and value. Returns false if no field is
// left. Each line must be a well-formed "name: value" CR LF: the function does not check the bytes.
bool next_http_field(std::string_view& lines, HttpField& field);

// Removes the next element from `list` and sets `element` to it. `list` is the value of a field that is a
// comma-separated list (RFC 9110 5.6.1). Returns false if no element is left. Empty elements are skipped. A comma
// between quotes does not separate elements; after a quote that is never closed, the rest of the list is one element.
// Do not use this function for Set-Cookie, which is no list: the dates in it contain commas.
bool next_list_element(std::string_view& list, std::string_view& element);

// Splits one complete line, which includes the LF at its end, into name and value (RFC 9112 5). Returns kBadLineEnd if
// the line does not end in CR LF. Returns kBadHeader if there is no colon, the name is not a token, or the value
// contains a control character other than HTAB and DEL.
HttpParseError split_field_line(std::string_view line, HttpField& field);

// The fields that the server writes into each response itself. A handler or middleware must not set them.
inline constexpr std::string_view kServerFields[] = {"Content-Length", "Transfer-Encoding", "Connection", "Date"};

// Returns true if two field names are equal when upper and lower case are ignored (RFC 9110 5.1).
bool same_field_name(std::string_view a, std::string_view b);

}  // namespace peal
