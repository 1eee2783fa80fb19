// SPDX-License-Identifier: BSD-3-Clause
// One field of an HTTP message: a header or a trailer line (RFC 9110 5). Pure; any thread.
#pragma once

#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

// Two views; whoever hands one out says how long they are good.
struct HttpField {
  std::string_view name;   // a token; its case does not matter
  std::string_view value;  // without the white space around it
};

// Whether it may be sent: the name a token, the value without CR, LF, NUL or another control (RFC 9110 5.5), any of
// which would let the one who chose the value write header lines of his own (response splitting).
bool is_sendable(const HttpField& field);

// Appends "name: value" CR LF; false, and nothing is appended, where the field is not sendable.
template <class Text>
[[nodiscard]] bool append_http_field(Text& text, std::string_view name, std::string_view value) {
  if (!is_sendable({name, value})) return false;
  text.append(name);
  text.append(std::string_view(": "));
  text.append(value);
  text.append(std::string_view("\r\n"));
  return true;
}

// Cuts the first field off `lines`, each "name: value" CR LF and known to be well-formed; false when none is left.
bool next_http_field(std::string_view& lines, HttpField& field);

// Cuts the next element off the value of a field that is a list (RFC 9110 5.6.1); false when none is left. Empty ones
// are passed over, and a comma between quotes separates nothing: what stands from a quote that is never closed to the
// end of the line is one element. Set-Cookie is no list: its dates have commas.
bool next_list_element(std::string_view& list, std::string_view& element);

// Takes one whole line apart, the LF that ends it included (RFC 9112 5).
HttpParseError split_field_line(std::string_view line, HttpField& field);

// What a server says itself in each answer, where it ends above all: nobody else sets these.
inline constexpr std::string_view kServerFields[] = {"Content-Length", "Transfer-Encoding", "Connection", "Date"};

// Whether two names are the same (RFC 9110 5.1).
bool same_field_name(std::string_view a, std::string_view b);

}  // namespace peal
