// SPDX-License-Identifier: BSD-3-Clause
// Connection: one stream with its callbacks, limits and end. A user keeps a ConnectionHandle of it.
//
// A Connection belongs to its loop, is made by a Server or a Client, and dies after on_close. A Connection& is good
// inside the callback it was given to; whoever wants more keeps handle(), good at any time on any thread.
//
// How a connection ends. close() sends what is queued, then FIN, and waits for the peer's FIN, so that the last answer
// is never cut off by a reset: while the peer has not acknowledged everything min_write_bytes bounds the wait, then
// linger_timeout. What still comes in meanwhile is dropped. abort() resets at once. When the peer sends FIN first, what
// is queued still goes out before the end: half-close is honoured both ways. Whatever ends it, on_close comes exactly
// once for each on_open, last, and tells why.
//
// Its states and their timers are in connection_life.h; parts/connection_states.cc is where it goes from one to the
// next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/loop/timer_wheel.h>
#include <peal/net/connection_callbacks.h>
#include <peal/net/connection_handle.h>
#include <peal/net/connection_life.h>
#include <peal/net/connection_options.h>
#include <peal/observe/flight_recorder.h>

namespace peal {

struct ConnectionFacts;
class Loop;
namespace detail {
class ConnectionSet;
class PipePair;
struct Tracked;
}  // namespace detail

class alignas(64) Connection final : private SlotLinks, private StreamEvents {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Queues output, which leaves in one piece when the callback returns. True while below the high-water mark; after
  // false, on_writable tells when to go on, or on_close that there is nobody left to send to. On a connection that is
  // ending it is dropped, and the answer false.
  bool send(std::string_view bytes);  // copied
  bool send(Buffer&& bytes) {         // moved
    if (!plain()) [[unlikely]]
      return send_when_not_plain(std::move(bytes));
    return count_and_queue(bytes.size(), std::move(bytes));
  }
  bool send(const SharedBytes& bytes);  // referred to
  // Part of a file, in order with the rest. Its bytes hold no memory: they count in queued_bytes() but towards no mark
  // or limit; the range itself counts there, with 60 bytes. A file shorter than the range ends the connection (EIO).
  void send_file(FileRange range);
  // Ends sending alone: FIN follows what is queued, later sends answer false. With the peer's FIN it ends by itself.
  void shutdown_send();

  // Ends gracefully; see above. Later calls do nothing.
  void close();
  // The same without waiting for the peer's FIN: it is over when the kernel has what is queued. For a peer that has
  // said that it sends no more; if it does, the kernel answers with RST, and what it had not yet read is lost to it.
  void close_when_sent() {
    ignores_peer_end_ = ignores_peer_end_ || is_open();
    close();
  }
  // Ends gracefully, as close() does, because the peer sent what this side cannot read: mark_refused(), then the end. A
  // Client connects anew if ClientOptions::retry says so.
  void refuse(Trouble why);
  // The connection stays open, so that the peer can be told what was wrong. However it ends then, its CloseReason is
  // kTruncated if `why` is Trouble::kTruncated, otherwise kBadMessage, and error() answers `why`. Counts in
  // NetStats::bad_messages. Does nothing if the connection was refused before, or is ending.
  void mark_refused(Trouble why);
  // Ends with RST, dropping what is queued.
  void abort();
  // Has on_writable called once more, when the kernel has all that was sent (unless the connection ends first).
  void report_drained();
  // Puts the layer of ConnectionOptions::layer_later between the connection and its peer: what was sent before leaves
  // in the clear, and whatever comes from now on is the layer's, what on_message leaves unconsumed included, after
  // `unread`, which somebody has taken from there and not read. So nothing that came in the clear is shown as if it had
  // come over the layer, if who takes one line after another stops at this. `host`: whom the layer is to reach; empty:
  // the name that a client connected to.
  // Then comes on_secured, or on_close when it fails or takes longer than handshake_timeout. Until then the connection
  // is not open: what is sent is dropped, by handles too, and a BoundedSender ends with it; close() ends it at once; a
  // pause() is over, and pause() and shutdown_send() do nothing.
  // False, and nothing has happened: it cannot send any more, or its layer is there or on its way. It asserts where
  // there is none, and on a pipe.
  bool start_layer(std::string_view host = {}, Buffer&& unread = {});
  // Stops and resumes receiving; what was left unconsumed is shown again after resume(), from the loop. Paused, a
  // connection ends when its output has failed or the peer resets; with something left to show, linger_timeout later.
  void pause();
  void resume();
  // min_write_bytes holds until the queue is empty, below the high-water mark and for files too.
  void expect_output() { watch_output(); }
  // Until this is switched off it is not evicted as idle: work for it is under way that the connection cannot see.
  void set_busy(bool on) { busy_ = on; }
  // For a protocol that reads when it wants to (ConnectionCallbacks::awaits_input), outside of on_message: what
  // on_message has left. The protocol may consume from its front.
  Buffer& kept_input() { return input_; }
  // To be called then, when a reader begins to wait for more than kept_input() has: receiving resumes, min_read_bytes
  // counts from now if part of a message is kept, and a connection that drains is closed if nothing is.
  void await_input() {
    if (await_input_matters()) [[unlikely]]
      await_input_when_not_plain();
  }
  // Whether await_input() would do anything now.
  bool await_input_matters() const { return !plain(); }
  // What the protocol keeps of this connection's input outside of it; replaces the last figure. It counts in
  // memory_bytes(), and prevents eviction as idle while it is not 0.
  void count_gathered(size_t held_bytes);
  // The peer is to send something: until this is switched off, min_read_bytes holds even with no input unconsumed, and
  // full output does not pause receiving.
  void expect_input(bool on);

  ConnectionHandle handle();
  Loop& loop() const;
  ConnectionLife life() const { return fast_path_.state; }
  bool is_open() const { return peal::is_open(fast_path_.state); }
  // False from shutdown_send() or close() on, and when sending has failed though what the peer had sent is still read:
  // then on_writable comes once to whoever waited for it, and the end follows.
  bool can_send() const { return is_open() && !has(kSendEnded) && fast_path_.state != State::kReadingOut; }
  size_t queued_bytes() const;
  // Those, and what the peer has not acknowledged. Costs a system call.
  uint64_t undelivered_bytes() const;
  uint64_t received_bytes() const { return received_bytes_; }
  // Those, what a layer has received and cannot show yet, and what its records add. Not in on_close.
  uint64_t arrived_bytes() const;
  // Accepted for sending.
  uint64_t sent_bytes() const { return sent_bytes_; }
  Result<SocketAddress> local_address() const;
  // Not after a reset nor in on_close (ENOTCONN, EBADF), unless remember_peer or the flight recorder is on.
  Result<SocketAddress> peer_address() const;
  Result<void> set_option(SocketOption option, int value);
  // What the socket or the layer failed with, for on_close: an errno, a Trouble, or StreamPort::errors() has it. After
  // mark_refused(): its Trouble.
  std::error_code error() const;
  // What its layer has agreed on with the peer; ENOTSUP without one. Not in on_close (EBADF).
  Result<LayerFacts> layer_facts() const { return port_->layer_facts(stream_); }
  // For inspection; a few system calls. connection_facts.h
  ConnectionFacts facts() const;

  // One object of the user's own, made in place and destroyed after on_close. context() asserts that it is a T.
  template <class T, class... Args>
  T& emplace_context(Args&&... args) {
    adopt_context(std::make_unique<T>(std::forward<Args>(args)...));
    return *static_cast<T*>(context_.get());
  }
  // The same for one made elsewhere.
  template <class T>
  void adopt_context(std::unique_ptr<T> object) {
    PEAL_ASSERT(!keeps_context_, "the context of connection {} belongs to its protocol", slot);
    context_ = {object.release(), &destroy_context<T>};
  }
  // Nobody may put another one in its place: it is a protocol's.
  void keep_context() { keeps_context_ = true; }
  template <class T>
  T& context() const {
    PEAL_ASSERT(context_.get_deleter() == &destroy_context<T>,
                "the context of a connection is asked for as another type");
    return *static_cast<T*>(context_.get());
  }

 private:
  friend class detail::ConnectionSet;
  friend class SlotTable<Connection>;
  using State = ConnectionLife;
  // Why it does not read: start_or_stop_reading().
  enum ReadStop : uint8_t {
    kByUser = 1,      // pause(); in kPaused, kOrphaned, perhaps in kPiped
    kOutputFull = 2,  // until output has drained to half of the high-water mark: pause_for_output()
    kOverBudget = 4,  // until the process holds less memory: memory_relief.h
    kShowsFirst = 8,  // in kShowing: the peer's end must not overtake what it sent before
  };
  // Reasons why bytes, in or out, take the longer path.
  enum SlowPathReason : uint8_t {
    kKeptInput = 1,       // the callback left some
    kAboveHighWater = 2,  // so that send() answers false
    kSendEnded = 4,       // shutdown_send() was called
    kDrains = 32,         // closes once no input is kept, and nothing is under way
    kTracked = 64,        // its deadlines and its recency are followed
    kRecorded = 128,      // the flight recorder wants to know
    kWatched = kTracked | kRecorded,
  };
  // Compared as one word on every receive and send: a plain open connection costs one compare.
  struct alignas(2) FastPathWord {
    State state = State::kClosed;
    uint8_t reasons = 0;
  };

  template <class T>
  static void destroy_context(void* context) {
    delete static_cast<T*>(context);
  }
  static void no_context(void*) {}

  void on_connected(std::error_code error) override;
  void on_received(Buffer& bytes) override;
  void on_receive_end(std::error_code error) override;
  void on_withheld() override;
  void on_send_failed(std::error_code error) override;
  void on_gone(std::error_code error) override;
  void on_sent(size_t left_bytes) override;
  void on_output_lost(size_t bytes) override;
  void on_closed() override;
  void on_detached(LooseStream stream) override;

  StreamPort& port() const { return *port_; }
  bool plain() const { return has_only(SlowPathReason{}); }
  // Open, and plain but for this.
  bool has_only(SlowPathReason what) const {
    return std::bit_cast<uint16_t>(fast_path_) ==
           std::bit_cast<uint16_t>(FastPathWord{.state = State::kOpen, .reasons = what});
  }
  bool has(SlowPathReason what) const { return (fast_path_.reasons & what) != 0; }
  void set_slow_path(SlowPathReason what, bool on) {
    fast_path_.reasons = static_cast<uint8_t>(on ? fast_path_.reasons | what : fast_path_.reasons & ~what);
  }
  // Counted first, or the size would have to be kept over the call.
  bool count_and_queue(size_t size, Buffer&& bytes) {
    sent_bytes_ += size;
    return is_below_high_water(port().send(stream_, std::move(bytes)));
  }
  bool is_below_high_water(size_t queued) {
    if (queued > high_water_bytes_) [[unlikely]]
      return crossed_high_water(queued);
    return true;
  }
  [[gnu::noinline]] bool send_when_not_plain(Buffer&& bytes);
  [[gnu::noinline]] bool send_with_checks(Buffer&& bytes);
  bool count_sent(size_t size, size_t queued);
  [[gnu::noinline]] void await_input_when_not_plain();
  [[gnu::noinline]] bool crossed_high_water(size_t queued);
  void pause_for_output();
  // connection_states.cc: the only places where the state changes.
  void enter(State next);
  Duration time_in(State state) const;
  void time_up();
  void begin(bool handshakes);
  void open();
  void resume_as(State next);
  static constexpr int kAgeShift = 26;  // 67 ms: 32 bits hold nine years
  static uint32_t age_stamp(TimePoint now) {
    return static_cast<uint32_t>(now.time_since_epoch().count() >> kAgeShift);
  }
  void deliver(Buffer& bytes);
  [[gnu::noinline]] void receive_when_not_plain(Buffer& bytes);
  [[gnu::noinline]] void keep(Buffer& bytes);
  Buffer take_kept();
  bool has_kept() const { return has(kKeptInput) && input_.holds_blocks(); }
  // It holds a part of a message that the user has not taken, or a part of a record of its layer.
  bool has_part() const { return has_kept() || port_->waits_for_rest(stream_); }
  [[gnu::noinline]] void end_after_exception();
  // connection_deadlines.cc: who is watched, and cut off.
  void begin_watching();
  void remember_peer();
  detail::Tracked& tracked();
  // From kPiped on until it is released; null otherwise.
  detail::PipePair* pipe_pair() const;
  void note_received(size_t bytes);
  void note_activity();
  void note_sent(size_t bytes);
  void note_high_water(size_t queued);
  void note_input_shown();
  void watch_input();
  void watch_output();
  void watch_until(TimePoint due);
  void begin_write_window();
  uint64_t least_write_bytes() const;
  uint64_t owed_bytes() const;
  void check_deadlines();
  bool passed_idle_timeout();
  bool passed_read_window();
  bool passed_write_window();
  uint64_t drained_bytes() const;
  uint64_t acknowledged_bytes() const;
  bool is_idle() const;
  void record(FlightKind kind, uint64_t bytes = 0) {
    if (has(kRecorded)) record_event(kind, bytes);
  }
  void record_event(FlightKind kind, uint64_t bytes);
  bool only_recorded(FlightKind kind, uint64_t bytes);
  FlightId flight_id() const { return {.owner = set_, .generation = generation, .slot = slot}; }
  void log_abnormal_end();
  void show_kept();
  void stop_reading(ReadStop why, bool on) {
    read_stops_ = static_cast<uint8_t>(on ? read_stops_ | why : read_stops_ & ~why);
  }
  bool stopped_by(ReadStop why) const { return (read_stops_ & why) != 0; }
  void start_or_stop_reading();
  bool expects_no_input() const { return peer_ended_ || ignores_peer_end_; }
  CloseReason note_error(std::error_code error);
  // What the user is told: reason_, unless the peer was refused.
  CloseReason shown_reason() const;
  void end_gracefully(CloseReason reason);
  void linger_if_acknowledged();
  void end_over_budget();
  void pause_for_budget();
  void resume_after_budget();
  size_t memory_bytes() const;
  // Not open yet, or not again.
  bool is_beginning() const {
    return fast_path_.state == State::kConnecting || fast_path_.state == State::kHandshaking;
  }
  // Open, or ends gracefully.
  bool lives() const { return fast_path_.state >= State::kOpen; }
  bool can_be_piped() const { return is_open() && fast_path_.state != State::kReadingOut; }
  void enter_pipe(detail::PipePair& pair);
  void count_spliced(uint64_t in, uint64_t out) {
    received_bytes_ += in;
    sent_bytes_ += out;
  }
  bool is_piped() const { return fast_path_.state == State::kPiped; }
  bool awaits_input() const;
  // A protocol has taken input and does not wait for more yet.
  bool is_working() const { return received_bytes_ > 0 && !awaits_input(); }
  [[gnu::noinline]] void end(CloseReason reason, CloseHow how = CloseHow::kNormal);

  // What every receive and send touches comes first and is one cache line, with the links and the table of virtual
  // functions before it: with many connections, each line more is one more to fetch for a message.
  StreamPort* port_ = nullptr;
  detail::ConnectionSet* set_ = nullptr;
  StreamId stream_;
  uint64_t received_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
  uint32_t high_water_bytes_ = 0;
  FastPathWord fast_path_;
  CloseReason reason_ = CloseReason::kLoopStopped;
  bool was_open_ : 1 = false;
  bool peer_ended_ : 1 = false;
  bool ignores_peer_end_ : 1 = false;  // its end is not waited for: close_when_sent()
  bool ended_here_ : 1 = false;        // close() or abort() was called
  bool refused_ : 1 = false;           // error_ says why: mark_refused()
  bool expects_input_ : 1 = false;
  bool awaits_seat_ : 1 = false;  // an accepted stream that waits for another's place (admission.h)

  Buffer input_;
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, &no_context};
  struct DeleteTracked {
    void operator()(detail::Tracked* tracked) const;
  };
  std::unique_ptr<detail::Tracked, DeleteTracked> tracked_;  // if somebody watches
  TimerId timer_;                                            // the state's
  uint32_t opened_at_ = 0;                                   // age_stamp()
  uint16_t error_ = 0;                                       // note_error()
  bool busy_ : 1 = false, keeps_context_ : 1 = false;
  bool drain_wanted_ : 1 = false;  // report_drained() was called
  uint8_t read_stops_ = 0;         // ReadStop
};
static_assert(sizeof(Connection) == 128);

}  // namespace peal
