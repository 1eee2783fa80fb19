// SPDX-License-Identifier: BSD-3-Clause
// The text of an event stream (WHATWG HTML 9.2.5): what a server writes, and browsers read with EventSource. Pure
// functions; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// `{.event = "price", .id = "17", .data = json}`. Whatever bytes the values hold, they are values and no fields.
struct ServerEvent {
  // Its type, which addEventListener() is given; empty: "message". Controls that would end the line become spaces.
  std::string_view event = {};
  // What the client says as Last-Event-ID when it comes back; "" takes the last one back; none: the last one stays. As
  // above for what is in it.
  std::optional<std::string_view> id = {};
  // Of any number of lines, ended by LF, CR LF or CR; they arrive with LF. UTF-8: what is not, arrives as U+FFFD. None:
  // no event is dispatched, and `id` and `retry` alone are told.
  std::optional<std::string_view> data = {};
  // How long the client waits before it comes back; it goes on doing so.
  std::optional<std::chrono::milliseconds> retry = {};
};

std::string event_text(const ServerEvent& event);
// A comment, which clients ignore and every machine in between sees; of one line.
std::string event_comment(std::string_view text = {});

}  // namespace peal
