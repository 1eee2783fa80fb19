// SPDX-License-Identifier: BSD-3-Clause
// EventStream: an answer that goes on, of events that the server sends when it has some: what a browser reads with
// EventSource (WHATWG HTML 9.2).
//
//   router.get("/prices", [&](peal::HttpExchange& exchange) { prices.add(peal::EventStream(exchange)); });
//   ...
//   prices.send({.event = "price", .id = "17", .data = json});    // an EventChannel; any thread
//
// It takes the exchange over: the answer begins with it, and the exchange's on_abandoned() is its own. It ends with
// close(), when the client leaves, or when the server drains, which would wait for it in vain; then the client comes
// back to whoever listens next, and says with last_event_id() what it had last.
//
// A stream that is quiet is sent a comment now and then: it keeps machines in between from forgetting the connection,
// and finds out who has gone. A client's end of sending is no end of reading, so nothing else tells.
//
// Copies are the same stream; any thread may have one and use it at any time; the last one to go closes it. In a
// coroutine it is used until send() answers false or the coroutine is cancelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/memory/block_pool.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/content/server_event.h>

namespace peal {

struct EventStreamOptions {
  // A comment after so long without an event: so long may it take until a client that left is missed. Shorter than the
  // minute after which nginx and others in between give up; 0: never.
  Duration heartbeat = std::chrono::seconds(15);
  // A client that reads too slowly: when so much waits for it, the next event ends the stream by a reset, and the
  // client comes back for what it missed.
  size_t most_queued_bytes = 1024 * 1024;
  // Instead, what there is no room for is dropped, for this client. For states, of which the next one says it all.
  bool drops = false;
  // Called once, on the loop's thread, when the stream has ended, from inside send() or close() too, but not when the
  // server is destroyed.
  CopyableCallback<void()> on_end = nullptr;
};

// An event for many: its text is made once, and all are sent the same bytes. Cheap to copy; any thread.
class EventText {
 public:
  EventText(const ServerEvent& event) : bytes_(share_bytes(event_text(event))) {}
  static EventText comment(std::string_view text) { return EventText(share_bytes(event_comment(text))); }

 private:
  friend class EventStream;
  explicit EventText(SharedBytes bytes) : bytes_(std::move(bytes)) {}

  SharedBytes bytes_;
};

class EventStream {
 public:
  // None: it has ended.
  EventStream() = default;
  // Begins the answer: 200, text/event-stream, not to be stored or buffered on its way; fields that were set go with
  // it. To HEAD that is all. On the exchange's loop.
  explicit EventStream(HttpExchange& exchange, const EventStreamOptions& options = {});

  // False: it has ended, or, on its loop, the event was dropped. From another thread it travels there, in order.
  bool send(const EventText& event) const;
  bool send(const ServerEvent& event) const { return is_open() && send(EventText(event)); }
  // Ends the answer behind what was sent.
  void close() const;
  bool is_open() const;
  // What the client had last, as it says (9.2.4); empty: it comes for the first time.
  std::string_view last_event_id() const;
  // For want of room.
  uint64_t dropped() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Sends to many. Any thread; who sends on several at once has no order among them. Streams that have ended are let go.
class EventChannel {
 public:
  EventChannel() = default;
  // Its streams go on.
  ~EventChannel() = default;
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  void add(EventStream stream);
  // To how many it is on its way.
  size_t send(const EventText& event);
  size_t send(const ServerEvent& event) { return send(EventText(event)); }
  // Of all that are there now.
  void close();
  size_t size();

 private:
  std::vector<EventStream> open_ones();
  void drop_ended();

  std::mutex mutex_;
  std::vector<EventStream> streams_;  // guarded by the mutex
};

}  // namespace peal
