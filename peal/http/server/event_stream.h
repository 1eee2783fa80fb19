// SPDX-License-Identifier: BSD-3-Clause
// EventStream: an answer that is a stream of events, which a browser reads with EventSource (WHATWG HTML 9.2).
//
//   router.get("/prices", [&](peal::HttpExchange& exchange) { prices.add(peal::EventStream(exchange)); });
//   ...
//   prices.send({.event = "price", .id = "17", .data = json});    // prices is an EventChannel; any thread
//
// The constructor begins the answer and sets the exchange's on_abandoned() callback; the handler must not answer or set
// that callback itself. The stream ends when close() is called, when the client leaves, or when the server drains. A
// draining server would otherwise wait for the stream in vain. The browser then reconnects, to any server that listens,
// and sends the id of its last event: see last_event_id().
//
// A quiet stream sends a comment at intervals. The comment keeps proxies from forgetting the connection, and it reveals
// clients that have left. Nothing else reveals them: a client that ends its own sending may still read.
//
// Copies of an EventStream are the same stream. Any thread may hold and use one at any time. The stream is closed when
// the last copy is destroyed. A coroutine may use the stream until send() returns false or the coroutine is cancelled.
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
  // Time without an event after which a comment is sent. It may take this long until a client that left is noticed. The
  // default is shorter than the minute after which nginx and other proxies close a quiet connection. 0: no comments.
  Duration heartbeat = std::chrono::seconds(15);

  // Limit for a client that reads too slowly. An event that would bring the queued bytes above the limit resets the
  // stream. The client then reconnects and can ask for the events it missed.
  size_t most_queued_bytes = 1024 * 1024;

  // True if an event that exceeds the limit is dropped for this client, instead of resetting the stream. Suitable for
  // events of which each replaces the one before.
  bool drops = false;

  // Called once, on the loop's thread, when the stream has ended. The call may come from inside send() or close(). It
  // does not come if the server is destroyed.
  CopyableCallback<void()> on_end = nullptr;
};

// EventText: the text of an event, made once and shared by all streams that send it. Cheap to copy. Any thread.
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
  // Makes a stream that has already ended.
  EventStream() = default;

  // Begins the answer: 200, text/event-stream, with fields that forbid storing and buffering it. Fields set before are
  // sent too. HEAD gets the head only. To be called on the exchange's loop.
  explicit EventStream(HttpExchange& exchange, const EventStreamOptions& options = {});

  // Sends an event. Returns false if the stream has ended, or, on the loop's own thread, if the event was dropped.
  // Events sent by another thread are posted to the loop and keep their order.
  bool send(const EventText& event) const;
  bool send(const ServerEvent& event) const { return is_open() && send(EventText(event)); }

  // Completes the answer after the events sent so far.
  void close() const;

  bool is_open() const;

  // Returns the id of the last event that the client received, as it says (9.2.4). Empty if the client connects for the
  // first time.
  std::string_view last_event_id() const;

  // Returns the number of events that exceeded most_queued_bytes.
  uint64_t dropped() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// EventChannel: sends events to many streams. Any thread may use it. Events that several threads send at the same time
// have no common order. Streams that have ended are removed.
class EventChannel {
 public:
  EventChannel() = default;

  // The streams stay open.
  ~EventChannel() = default;
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  void add(EventStream stream);

  // Sends the event to all open streams. Returns the number of streams that accepted it.
  size_t send(const EventText& event);
  size_t send(const ServerEvent& event) { return send(EventText(event)); }

  // Closes all streams that the channel has now.
  void close();

  // Returns the number of open streams.
  size_t size();

 private:
  std::vector<EventStream> open_ones();
  void drop_ended();

  std::mutex mutex_;
  std::vector<EventStream> streams_;  // guarded by mutex_
};

}  // namespace peal
