// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/event_stream.h>

#include <atomic>
#include <utility>

#include <peal/http/server/parts/http_shard.h>
#include <peal/loop/loop.h>

namespace peal {

// State: the data that all copies of an EventStream share. It uses the exchange only through a handle, because the
// exchange may end earlier. The exchange's callbacks and the timer hold only weak pointers to the state. The state is
// therefore destroyed together with the last copy of the stream, and its destructor completes the answer.
struct EventStream::State : std::enable_shared_from_this<State> {
  State(HttpExchange& exchange, const EventStreamOptions& its_options)
      : options(its_options), mailbox(exchange.loop().mailbox()), exchange_handle(exchange.handle()) {}

  // Completes an answer that is still open. The last copy of the stream was destroyed, so no further event can be sent.
  ~State() {
    if (!is_open) return;
    exchange_handle.run([on_end = options.on_end](HttpExchange& exchange) {
      if (!exchange.complete()) exchange.end();
      if (on_end) on_end();
    });
  }

  // Begins the answer. Called on the loop.
  void begin(HttpExchange& exchange);

  // Sends an event. Returns false if the event was not sent. Called on the loop.
  bool write(HttpExchange& exchange, const SharedBytes& bytes);

  // Completes the answer. Called on the loop.
  void end(HttpExchange& exchange) {
    note_end();
    if (!exchange.abandoned() && !exchange.complete()) exchange.end();
  }

  // Calls `task` with the exchange before it returns. If the exchange has ended, marks the stream as ended and returns
  // false. Called on the loop.
  template <class Task>
  bool with_exchange(Task&& task);

  // Marks the stream as ended and calls on_end, unless the stream was already marked. Called on the loop.
  void note_end();

  void start_heartbeat_timer(Duration delay);
  void send_heartbeat();

  const EventStreamOptions options;
  const std::shared_ptr<Mailbox> mailbox;
  const HttpExchangeHandle exchange_handle;
  std::string last_event_id;
  std::atomic<bool> is_open = true;
  std::atomic<uint64_t> dropped = 0;
  // Only the loop uses the following members.
  TimerId timer;
  TimePoint last_sent{};
};

void EventStream::State::begin(HttpExchange& exchange) {
  last_event_id = exchange.request().find("Last-Event-ID").value_or(std::string_view());
  exchange.set_field("Cache-Control", "no-store");
  exchange.set_field("X-Accel-Buffering", "no");  // else nginx buffers events until it has some KiB of them
  exchange.begin(200, "text/event-stream");
  if (exchange.request().method() == HttpMethod::kHead) return end(exchange);
  const std::weak_ptr<State> self = weak_from_this();
  exchange.on_abandoned([self](HttpExchange&) {
    if (const std::shared_ptr<State> state = self.lock()) state->note_end();
  });
  last_sent = exchange.loop().now();
  if (options.heartbeat > Duration::zero()) start_heartbeat_timer(options.heartbeat);
  detail::HttpShard::when_drained(exchange, [self](HttpExchange& drained) {
    if (const std::shared_ptr<State> state = self.lock()) state->end(drained);
  });
}

template <class Task>
bool EventStream::State::with_exchange(Task&& task) {
  bool called = false;
  exchange_handle.run([&](HttpExchange& exchange) {
    called = true;
    task(exchange);
  });
  if (!called) note_end();  // the exchange ended without a call of end()
  return called;
}

bool EventStream::State::write(HttpExchange& exchange, const SharedBytes& bytes) {
  if (!is_open) return false;
  const size_t queued = exchange.connection().queued_bytes();
  if (queued > 0 && queued + bytes->size() > options.most_queued_bytes) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    if (options.drops) return false;
    exchange.abort();
    note_end();
    return false;
  }
  Buffer text;
  text.append(bytes);
  exchange.write(std::move(text));
  last_sent = exchange.loop().now();
  return true;
}

void EventStream::State::note_end() {
  if (!is_open.exchange(false)) return;
  if (Loop* loop = mailbox->here()) loop->cancel(timer);
  if (options.on_end) options.on_end();
}

void EventStream::State::start_heartbeat_timer(Duration delay) {
  timer = mailbox->here()->after(delay, [self = weak_from_this()] {
    if (const std::shared_ptr<State> state = self.lock()) state->send_heartbeat();
  });
}

void EventStream::State::send_heartbeat() {
  const Duration quiet = mailbox->here()->now() - last_sent;
  if (quiet < options.heartbeat) return start_heartbeat_timer(options.heartbeat - quiet);
  const bool there = with_exchange([this](HttpExchange& exchange) { write(exchange, share_bytes(event_comment())); });
  if (there && is_open) start_heartbeat_timer(options.heartbeat);
}

EventStream::EventStream(HttpExchange& exchange, const EventStreamOptions& options) {
  if (exchange.abandoned()) return;
  state_ = std::make_shared<State>(exchange, options);
  state_->begin(exchange);
}

bool EventStream::send(const EventText& event) const {
  if (!is_open()) return false;
  if (state_->mailbox->here() == nullptr) {
    return state_->exchange_handle.run(
        [state = state_, bytes = event.bytes_](HttpExchange& exchange) { state->write(exchange, bytes); });
  }
  bool sent = false;
  state_->with_exchange([&](HttpExchange& exchange) { sent = state_->write(exchange, event.bytes_); });
  return sent;
}

void EventStream::close() const {
  if (!is_open()) return;
  if (state_->mailbox->here() != nullptr) {
    state_->with_exchange([this](HttpExchange& exchange) { state_->end(exchange); });
  } else {
    state_->exchange_handle.run([state = state_](HttpExchange& exchange) { state->end(exchange); });
  }
}

bool EventStream::is_open() const { return state_ != nullptr && state_->is_open; }

std::string_view EventStream::last_event_id() const {
  return state_ != nullptr ? std::string_view(state_->last_event_id) : std::string_view();
}

uint64_t EventStream::dropped() const { return state_ != nullptr ? state_->dropped.load() : 0; }

void EventChannel::add(EventStream stream) {
  const std::lock_guard lock(mutex_);
  if (streams_.size() == streams_.capacity()) drop_ended();
  streams_.push_back(std::move(stream));
}

// Returns copies of the open streams. The caller uses the copies without holding the lock, because a stream's on_end
// may call this channel.
std::vector<EventStream> EventChannel::open_ones() {
  const std::lock_guard lock(mutex_);
  drop_ended();
  return streams_;
}

void EventChannel::drop_ended() {
  std::erase_if(streams_, [](const EventStream& each) { return !each.is_open(); });
}

size_t EventChannel::send(const EventText& event) {
  size_t sent = 0;
  for (const EventStream& stream : open_ones()) sent += stream.send(event) ? 1 : 0;
  return sent;
}

void EventChannel::close() {
  for (const EventStream& stream : open_ones()) stream.close();
  open_ones();
}

size_t EventChannel::size() { return open_ones().size(); }

}  // namespace peal
