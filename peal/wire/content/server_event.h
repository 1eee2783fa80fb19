// SPDX-License-Identifier: BSD-3-Clause
// Writes the text of an event stream (WHATWG HTML 9.2.5), which a server sends as text/event-stream and a browser reads
// with EventSource. Pure functions; any thread.
//
//   event_text({.event = "price", .id = "17", .data = json})
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// One event. The values may hold any bytes: event_text() writes them so that they cannot add a field or another event.
struct ServerEvent {
  // The type of the event, for which the client registers by addEventListener(). Empty: the type is "message". CR, LF
  // and NUL in the type are written as spaces.
  std::string_view event = {};

  // The id that the client sends as Last-Event-ID when it reconnects. An empty id makes the client forget the id of an
  // earlier event; nullopt keeps that id. CR, LF and NUL in the id are written as spaces.
  std::optional<std::string_view> id = {};

  // The data of the event, any number of lines that end with LF, CR LF or CR. The client receives each line end as LF.
  // Data must be UTF-8: the client replaces other bytes by U+FFFD. If data is nullopt, the client dispatches no event
  // and only remembers `id` and `retry`.
  std::optional<std::string_view> data = {};

  // The time that the client waits before it reconnects, from this event on. A negative time is written as 0. If
  // `retry` is nullopt, the client keeps the time that an earlier event set.
  std::optional<std::chrono::milliseconds> retry = {};
};

// Returns the text of the event with the empty line that ends the event.
std::string event_text(const ServerEvent& event);

// Returns a comment of one line; CR, LF and NUL in `text` become spaces. Clients ignore comments. Send one now and then
// so that proxies do not close a stream without events.
std::string event_comment(std::string_view text = {});

}  // namespace peal
