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
  // Time without an event after which the server sends a comment. A client that has left may go unnoticed for this
  // long. The default is shorter than the minute after which nginx and other proxies close a quiet connection. 0: no
  // comments are sent.
  Duration heartbeat = std::chrono::seconds(15);

  // Limit of the queued bytes for a client that reads too slowly. An event that would exceed the limit resets the
  // stream. The client then reconnects and can ask for the events that it missed. If nothing is queued, an event of any
  // size is sent.
  size_t most_queued_bytes = 1024 * 1024;

  // True if an event that would exceed most_queued_bytes is dropped for this client, instead of resetting the stream.
  // This suits streams in which each event replaces the previous one.
  bool drops = false;

  // Called once, on the loop's thread, when the stream has ended. The call may come from inside send() or close(). Not
  // called if the server is destroyed.
  CopyableCallback<void()> on_end = nullptr;
};

// EventText: the text of an event, composed once and shared by all streams that send it. An EventText is cheap to copy
// and may be used by any thread.
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

  // Begins the answer: status 200, content type text/event-stream, and fields that forbid storing and buffering it.
  // Fields that the handler has set before are sent too. The answer to HEAD is only the head. Must be called on the
  // exchange's loop.
  explicit EventStream(HttpExchange& exchange, const EventStreamOptions& options = {});

  // Sends an event. Returns false if the stream has ended. A call on the loop's own thread also returns false if the
  // event was dropped. Events sent by another thread are posted to the loop and keep their order.
  bool send(const EventText& event) const;
  bool send(const ServerEvent& event) const { return is_open() && send(EventText(event)); }

  // Completes the answer after all events that were sent before this call.
  void close() const;

  bool is_open() const;

  // Returns the client's Last-Event-ID: the id of the last event that the client has received (WHATWG HTML 9.2.4).
  // Empty if the client connects for the first time.
  std::string_view last_event_id() const;

  // Returns the number of events that were not sent because they would have exceeded most_queued_bytes.
  uint64_t dropped() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// EventChannel: sends events to many streams. Any thread may use the channel. If several threads send events at the
// same time, different streams may get these events in different orders. The channel removes streams that have ended.
class EventChannel {
 public:
  EventChannel() = default;

  // Calls no close(). A stream ends nevertheless if the channel has its last copy.
  ~EventChannel() = default;
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  void add(EventStream stream);

  // Sends the event to all open streams. Returns the number of streams for which EventStream::send() returned true.
  size_t send(const EventText& event);
  size_t send(const ServerEvent& event) { return send(EventText(event)); }

  // Closes all streams that are in the channel at the time of the call.
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
