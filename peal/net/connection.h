// SPDX-License-Identifier: BSD-3-Clause
// Connection: one stream with its callbacks, its limits and its end. The user's code keeps a ConnectionHandle of it.
//
// A Server or a Client makes a Connection. It belongs to one loop and is destroyed after on_close. A Connection& is
// valid only inside the callback it was passed to. Code that needs the connection later, or on another thread, keeps
// handle().
//
// How a connection ends:
// - close() sends the queued output, then FIN, and waits for the peer's FIN, so that no reset cuts off the last answer.
//   Until the peer has acknowledged everything, min_write_bytes bounds the wait; after that, linger_timeout does. Input
//   that still arrives is dropped.
// - abort() resets the connection at once.
// - If the peer sends FIN first, queued output is still sent before the connection ends: half-close works both ways.
// - However the connection ends, on_close is the last callback, exactly once for each on_open, with the reason.
//
// connection_life.h lists the states and their timers. parts/connection_states.cc has every function that changes them.
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

  // Queues output. A string_view is copied, a Buffer is moved, a SharedBytes is shared. All output that one callback
  // queues is sent together when the callback returns. Returns true while the queue is below the high-water mark. After
  // false, wait for on_writable before sending more. If the connection ends first, on_close is called instead. If
  // can_send() is false, drops the bytes and returns false.
  bool send(std::string_view bytes);
  bool send(Buffer&& bytes) {
    if (!plain()) [[unlikely]]
      return send_when_not_plain(std::move(bytes));
    return count_and_queue(bytes.size(), std::move(bytes));
  }
  bool send(const SharedBytes& bytes);
  // Queues a part of a file, in order with other output. The file's bytes count in queued_bytes(), but not towards the
  // high-water mark or output_limit_bytes: for these two limits, the whole range counts as about 60 bytes. If the file
  // turns out to be shorter than the range, the connection ends with EIO.
  void send_file(FileRange range);
  // Ends only the sending direction: FIN follows the queued output, and later calls of send() return false. The
  // connection ends by itself when the peer's FIN has arrived too.
  void shutdown_send();

  // Ends the connection gracefully: sends the queued output and FIN, then waits for the peer's FIN. min_write_bytes and
  // linger_timeout limit the wait. Further calls of close() do nothing.
  void close();
  // Ends the connection gracefully, but does not wait for the peer's FIN: the connection ends when the kernel has taken
  // the queued output. Call this only if the peer has announced that it sends nothing more. If the peer sends anyway,
  // the kernel answers with RST, and the peer loses what it had not yet read.
  void close_when_sent() {
    ignores_peer_end_ = ignores_peer_end_ || is_open();
    close();
  }
  // Calls mark_refused(why), then ends the connection gracefully, because the peer sent something that this side cannot
  // read. If RetryOptions::reconnect is set, a Client connects again after refuse(), but not after close().
  void refuse(Trouble why);
  // Fixes the reason for the end, but leaves the connection open, so that an error answer can still be sent. However
  // the connection ends later, error() returns `why`. The CloseReason is kTruncated if `why` is Trouble::kTruncated,
  // and kBadMessage otherwise. Adds 1 to NetStats::bad_messages. Does nothing if mark_refused() was called before or
  // the connection is already ending.
  void mark_refused(Trouble why);
  // Ends the connection at once with RST. Queued output is dropped.
  void abort();
  // Requests one extra call of on_writable, which is made when the kernel has taken all queued output. If the
  // connection ends first, this call is not made.
  void report_drained();
  // Puts the layer of ConnectionOptions::layer between the connection and its peer; layer_later must be set. Output
  // that was queued before is still sent in the clear. The layer reads all input from now on: first `unread`, which the
  // caller has taken from on_message's input but not interpreted, then the input that on_message leaves unconsumed. Do
  // not interpret bytes after the message that starts the layer: they are not protected by the layer. `host` is the
  // name that the layer is to reach. If `host` is empty, the layer uses the name that the client connected to.
  //
  // The handshake ends with on_secured, or with on_close if it fails or takes longer than handshake_timeout. During the
  // handshake the connection is not open:
  // - output is dropped, and a BoundedSender ends,
  // - pause() and shutdown_send() do nothing, and an earlier pause() is undone,
  // - close() ends the connection at once.
  //
  // Returns false, and changes nothing, if can_send() is false or the layer was already started. Asserts that
  // layer_later is set and that the connection is not piped.
  bool start_layer(std::string_view host = {}, Buffer&& unread = {});
  // pause() stops receiving, and resume() starts it again. In the loop's next turn after resume(), on_message is called
  // with the input that it had left unconsumed. If sending fails or the peer resets while the connection is paused, the
  // connection ends: linger_timeout later if unconsumed input is left, otherwise at once.
  void pause();
  void resume();
  // Enforces min_write_bytes from now until the output queue is empty, even if the queue stays below the high-water
  // mark or holds only files.
  void expect_output() { watch_output(); }
  // Sets whether work is in progress that the connection cannot see. While `on` is true, the connection is not evicted
  // as idle (ServerOptions::max_connections).
  void set_busy(bool on) { busy_ = on; }
  // Returns the input that on_message has left unconsumed, for a protocol that reads outside of on_message
  // (ConnectionCallbacks::awaits_input). The protocol may consume bytes from the front of this buffer.
  Buffer& kept_input() { return input_; }
  // Must be called by a protocol that reads outside of on_message, when it begins to wait for more bytes than
  // kept_input() holds. Receiving resumes. If kept_input() holds a part of a message, the read window (min_read_bytes)
  // starts now. If kept_input() is empty and the server drains, the connection closes.
  void await_input() {
    if (await_input_matters()) [[unlikely]]
      await_input_when_not_plain();
  }
  // Returns false if a call of await_input() would have no effect now.
  bool await_input_matters() const { return !plain(); }
  // Sets how many bytes of this connection's input the protocol holds outside of kept_input(). `held_bytes` replaces
  // the number of the last call. These bytes count as the connection's memory for the memory budget. While the number
  // is not 0, the connection is not evicted as idle.
  void count_gathered(size_t held_bytes);
  // Sets whether the peer must send something now. While `on` is true, min_read_bytes is enforced even if no input is
  // left unconsumed, and receiving does not pause because of queued output.
  void expect_input(bool on);

  // Returns a handle of this connection, which may be kept for any time and used on any thread.
  ConnectionHandle handle();

  Loop& loop() const;
  ConnectionLife life() const { return fast_path_.state; }
  bool is_open() const { return peal::is_open(fast_path_.state); }
  // Returns whether send() accepts bytes: false after shutdown_send() or close(), and after sending has failed. If
  // sending failed because the peer has closed or reset, the input that had arrived is still read, then the connection
  // ends. Before it ends, on_writable is called once if an earlier send() had returned false.
  bool can_send() const { return is_open() && !has(kSendEnded) && fast_path_.state != State::kReadingOut; }

  size_t queued_bytes() const;
  // Returns queued_bytes() plus the bytes that the kernel holds and the peer has not acknowledged (SIOCOUTQ). Makes one
  // system call.
  uint64_t undelivered_bytes() const;

  uint64_t received_bytes() const { return received_bytes_; }
  // Returns received_bytes() plus the bytes that a layer has received and not delivered, plus the overhead of the
  // layer's records. Must not be called in on_close.
  uint64_t arrived_bytes() const;
  // Returns how many bytes send() and send_file() have accepted, including bytes that are still queued.
  uint64_t sent_bytes() const { return sent_bytes_; }

  Result<SocketAddress> local_address() const;
  // Returns the peer's address. After a reset and in on_close, fails with ENOTCONN or EBADF, unless
  // ConnectionOptions::remember_peer is set or the loop has a flight recorder.
  Result<SocketAddress> peer_address() const;
  // Sets an option of the socket; fails with the errno of setsockopt(2).
  Result<void> set_option(SocketOption option, int value);
  // Returns why the connection failed, for use in on_close: an errno, a Trouble, or an error of StreamPort::errors().
  // After mark_refused(why), returns `why`.
  std::error_code error() const;
  // Returns what the layer has agreed on with the peer. Fails with ENOTSUP if the connection has no layer, and with
  // EBADF in on_close.
  Result<LayerFacts> layer_facts() const { return port_->layer_facts(stream_); }
  // Returns a snapshot for inspection. Costs a few system calls.
  ConnectionFacts facts() const;

  // Creates the context: one object of the user's own type T, destroyed after on_close.
  template <class T, class... Args>
  T& emplace_context(Args&&... args) {
    adopt_context(std::make_unique<T>(std::forward<Args>(args)...));
    return *static_cast<T*>(context_.get());
  }
  // Takes over a context that was created elsewhere.
  template <class T>
  void adopt_context(std::unique_ptr<T> object) {
    PEAL_ASSERT(!keeps_context_, "the context of connection {} belongs to its protocol", slot);
    context_ = {object.release(), &destroy_context<T>};
  }
  // Must be called by a protocol that relies on its context: later calls of adopt_context() assert.
  void keep_context() { keeps_context_ = true; }
  // Returns the context. Asserts that its type is T.
  template <class T>
  T& context() const {
    PEAL_ASSERT(context_.get_deleter() == &destroy_context<T>,
                "context<T>() is called with another type than the context has");
    return *static_cast<T*>(context_.get());
  }

 private:
  friend class detail::ConnectionSet;
  friend class SlotTable<Connection>;
  using State = ConnectionLife;
  // Reasons not to receive. start_or_stop_reading() reads from the port only if no reason is set.
  enum ReadStop : uint8_t {
    kByUser = 1,      // pause() was called; the state is kPaused, kOrphaned or kPiped
    kOutputFull = 2,  // until output has drained to half of the high-water mark: pause_for_output()
    kOverBudget = 4,  // until the process holds less memory: memory_relief.h
    kShowsFirst = 8,  // in kShowing: on_message gets the kept input before the port is read
  };

  // Reasons why input and output of an open connection cannot take the fast path.
  enum SlowPathReason : uint8_t {
    kKeptInput = 1,       // on_message left input unconsumed
    kAboveHighWater = 2,  // send() returns false
    kSendEnded = 4,       // shutdown_send() was called
    kDrains = 32,         // closes once no input is kept and the protocol is idle
    kTracked = 64,        // its deadlines and its last activity are tracked
    kRecorded = 128,      // the flight recorder records its events
    kWatched = kTracked | kRecorded,
  };
  // The state and the slow-path reasons in two bytes, so that one comparison tells whether the connection is open and
  // has no reason for the slow path. Every receive and every send makes that comparison.
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
  // True if the connection is open and `what` is its only reason for the slow path.
  bool has_only(SlowPathReason what) const {
    return std::bit_cast<uint16_t>(fast_path_) ==
           std::bit_cast<uint16_t>(FastPathWord{.state = State::kOpen, .reasons = what});
  }
  bool has(SlowPathReason what) const { return (fast_path_.reasons & what) != 0; }
  void set_slow_path(SlowPathReason what, bool on) {
    fast_path_.reasons = static_cast<uint8_t>(on ? fast_path_.reasons | what : fast_path_.reasons & ~what);
  }
  // Adds `size` to sent_bytes_ before the port is called. Adding `size` after the call would cost more: `size` would
  // have to be saved during the call.
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
  // The functions from enter() to resume_as() are defined in connection_states.cc, the only file that changes the
  // state.
  void enter(State next);
  Duration time_in(State state) const;
  void time_up();
  void begin(bool handshakes);
  void open();
  void resume_as(State next);
  static constexpr int kAgeShift = 26;  // steps of 67 ms, so that 32 bits hold nine years
  static uint32_t age_stamp(TimePoint now) {
    return static_cast<uint32_t>(now.time_since_epoch().count() >> kAgeShift);
  }
  void deliver(Buffer& bytes);
  [[gnu::noinline]] void receive_when_not_plain(Buffer& bytes);
  [[gnu::noinline]] void keep(Buffer& bytes);
  Buffer take_kept();
  bool has_kept() const { return has(kKeptInput) && input_.holds_blocks(); }
  // True if the connection holds an incomplete message that on_message has left unconsumed, or an incomplete record of
  // its layer.
  bool has_part() const { return has_kept() || port_->waits_for_rest(stream_); }
  [[gnu::noinline]] void end_after_exception();
  // begin_watching(), remember_peer() and tracked() are defined in connection_deadlines.cc. They may create tracked_.
  void begin_watching();
  void remember_peer();
  detail::Tracked& tracked();
  // Returns the pipe that the connection is in, from the state kPiped until the connection is released; otherwise null.
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
  // Returns the CloseReason for on_close: kBadMessage or kTruncated after mark_refused(), otherwise reason_.
  CloseReason shown_reason() const;
  void end_gracefully(CloseReason reason);
  void linger_if_acknowledged();
  void end_over_budget();
  void pause_for_budget();
  void resume_after_budget();
  size_t memory_bytes() const;
  // True if the connection is connecting or in a handshake, also in the handshake of start_layer().
  bool is_beginning() const {
    return fast_path_.state == State::kConnecting || fast_path_.state == State::kHandshaking;
  }
  // True if the connection is open or is ending gracefully.
  bool lives() const { return fast_path_.state >= State::kOpen; }
  bool can_be_piped() const { return is_open() && fast_path_.state != State::kReadingOut; }
  void enter_pipe(detail::PipePair& pair);
  void count_spliced(uint64_t in, uint64_t out) {
    received_bytes_ += in;
    sent_bytes_ += out;
  }
  bool is_piped() const { return fast_path_.state == State::kPiped; }
  bool awaits_input() const;
  // True if the connection has received input and its protocol does not wait for more input now.
  bool is_working() const { return received_bytes_ > 0 && !awaits_input(); }
  [[gnu::noinline]] void end(CloseReason reason, CloseHow how = CloseHow::kNormal);

  // The members that every receive and send touches come first. Together with SlotLinks and the pointer to the virtual
  // functions, they fill one cache line. With many connections, each further cache line costs one more cache miss per
  // message.
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
  bool ignores_peer_end_ : 1 = false;  // close_when_sent(): does not wait for the peer's FIN
  bool ended_here_ : 1 = false;        // close() or abort() was called
  bool refused_ : 1 = false;           // mark_refused() was called; error_ says why
  bool expects_input_ : 1 = false;
  bool awaits_place_ : 1 = false;  // accepted, and waits for the place of an evicted connection (admission.h)

  Buffer input_;
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, &no_context};
  struct DeleteTracked {
    void operator()(detail::Tracked* tracked) const;
  };
  std::unique_ptr<detail::Tracked, DeleteTracked> tracked_;  // null until something must be tracked
  TimerId timer_;                                            // the timer of the current state
  uint32_t opened_at_ = 0;                                   // age_stamp() of the opening
  uint16_t error_ = 0;                                       // set by note_error()
  bool busy_ : 1 = false, keeps_context_ : 1 = false;
  bool drain_wanted_ : 1 = false;  // report_drained() was called
  uint8_t read_stops_ = 0;         // a mask of ReadStop
};
static_assert(sizeof(Connection) == 128);

}  // namespace peal
