// SPDX-License-Identifier: BSD-3-Clause
// TlsPort: a StreamPort whose streams speak TLS over the streams of an engine.
//
// Everything that a callback sends is encrypted ("sealed") and given to the engine when that callback returns. Many
// small sends thus become one record and one system call. Output that is sent outside of callbacks is encrypted before
// the engine waits.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/log_limiter.h>
#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/tls/parts/tls_error.h>
#include <peal/tls/parts/tls_stream.h>

namespace peal::detail {

// Makes a TlsPort over `engine`. `is_server` must say which side `side` is.
std::unique_ptr<StreamPort> make_tls_port(Engine& engine, std::shared_ptr<TlsSide> side, bool is_server);

class TlsPort final : public StreamPort {
 public:
  TlsPort(Engine& engine, std::shared_ptr<TlsSide> side, bool is_server);

  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override;
  StreamId adopt(LooseStream loose, StreamEvents& events) override { return adopt_from(std::move(loose), {}, events); }
  StreamId adopt_from(LooseStream loose, const std::string& host, StreamEvents& events) override;
  bool adopts_open() const override { return false; }
  void answer_in_the_clear(std::string_view text) override { clear_answer_ = text; }
  void detach(StreamId id) override { call(id, &TlsStream::refuse_detach); }
  void receive(StreamId id, bool on) override { call(id, &TlsStream::receive, on); }
  size_t send(StreamId id, Buffer&& bytes) override { return call(id, &TlsStream::send, std::move(bytes)); }
  size_t send_copy(StreamId id, std::string_view bytes) override { return call(id, &TlsStream::send_copy, bytes); }
  void report_sent(StreamId id) override { call(id, &TlsStream::report_sent); }
  void send_file(StreamId id, FileRange range) override { call(id, &TlsStream::send_file, std::move(range)); }
  bool forward(StreamId, StreamId) override { return false; }
  uint64_t forwarded_bytes(StreamId) const override { return 0; }
  size_t queued_bytes(StreamId id) const override { return query(id, &TlsStream::queued); }
  size_t held_bytes(StreamId id) const override { return query(id, &TlsStream::held); }
  uint64_t withheld_bytes(StreamId id) const override { return query(id, &TlsStream::withheld); }
  bool waits_for_rest(StreamId id) const override { return query(id, &TlsStream::waits_for_rest); }
  size_t held_input_bytes(StreamId id) const override { return query(id, &TlsStream::held_input); }
  void shutdown_send(StreamId id) override { call(id, &TlsStream::shutdown_send); }
  void close(StreamId id, CloseHow how) override { call(id, &TlsStream::close, how); }
  Result<LayerFacts> layer_facts(StreamId id) const override;
  const std::error_category& errors() const override { return tls_category(); }

  // unsent_bytes(), local_address(), peer_address(), set_option() and tcp_facts() call the engine's function of the
  // same name, for the engine's stream that carries `id`.
  uint64_t unsent_bytes(StreamId id) const override { return engine_.unsent_bytes(below(id)); }
  Result<SocketAddress> local_address(StreamId id) const override { return engine_.local_address(below(id)); }
  Result<SocketAddress> peer_address(StreamId id) const override { return engine_.peer_address(below(id)); }
  Result<void> set_option(StreamId id, SocketOption option, int value) override {
    return engine_.set_option(below(id), option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId id) const override { return engine_.tcp_facts(below(id)); }

 private:
  friend class TlsStream;

  // An EngineCallback exists while the engine calls a callback about `stream`. If `stream` is null, it exists while
  // before_wait() continues handshakes. When the outermost EngineCallback is destroyed, the port serves the streams
  // that were scheduled in the meantime.
  class EngineCallback {
   public:
    explicit EngineCallback(TlsPort& port, TlsStream* stream = nullptr) : port_(port), outer_(port.current_) {
      port_.current_ = stream;
      ++port_.depth_;
    }
    EngineCallback(const EngineCallback&) = delete;
    EngineCallback& operator=(const EngineCallback&) = delete;
    ~EngineCallback() { port_.end_engine_callback(outer_); }

   private:
    TlsPort& port_;
    TlsStream* const outer_;
  };
  struct Entry : SlotLinks {
    std::unique_ptr<TlsStream> stream;
  };

  // Returns the stream with this id. Returns null if the id is dead or the owner has closed the stream.
  TlsStream* find(StreamId id) const {
    const Entry* entry = streams_.find(id.slot - own_slots_, id.generation);
    return entry == nullptr || entry->stream->closed ? nullptr : entry->stream.get();
  }

  // Calls `method` of the stream with this id. If the id is dead, calls the engine with a dead id instead, so that the
  // engine counts a stale call.
  template <class Answer, class... Parameters, class... Arguments>
  Answer call(StreamId id, Answer (TlsStream::*method)(Parameters...), Arguments&&... arguments) {
    if (TlsStream* stream = find(id)) [[likely]]
      return (stream->*method)(std::forward<Arguments>(arguments)...);
    engine_.receive({}, false);
    return Answer();
  }

  // Returns what the member function `question` of the stream returns. If the id is dead, returns a default value such
  // as 0.
  template <class Answer>
  Answer query(StreamId id, Answer (TlsStream::*question)() const) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? Answer() : (stream->*question)();
  }

  // Returns the id of the engine's stream that carries `id`. Returns a dead id if `id` is dead.
  StreamId below(StreamId id) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? StreamId{} : stream->below();
  }
  TlsStream& add(StreamEvents& events);

  // Removes a stream for which the engine has called on_closed(). Returns the stream to the caller, who destroys it.
  std::unique_ptr<TlsStream> take(StreamId id);

  // Records that the stream has something to encrypt or to deliver. If the engine is in a callback, the port serves the
  // stream when that callback ends. Otherwise the port serves it in the engine's next wait().
  void schedule(TlsStream& stream);

  // Called by the destructor of EngineCallback. Serves the scheduled streams if the outermost callback has ended, and
  // makes `outer` the current stream again.
  void end_engine_callback(TlsStream* outer);

  // Closes a stream of the engine after the next wait(). That wait sends the stream's last records as far as the kernel
  // has room.
  void close_after_next_wait(StreamId below);

  // Returns true if the stream may do a step of its handshake in this turn, and counts that step. Otherwise appends the
  // stream to handshakes_waiting_, and a later turn calls its resume_handshake().
  bool take_step_or_wait(const TlsStream& stream);

  // Asks the engine to run before_wait() in its next wait().
  void call_before_wait();

  // Called by the engine in wait() after call_before_wait() has asked for it, and begins a turn. Continues waiting
  // handshakes, serves the scheduled streams, and closes the engine's streams in close_in_next_task_. Returns whether a
  // callback of an owner was called.
  bool before_wait();
  void serve_scheduled();

  // Logs that the TLS of `stream` has failed. Logs at most one failure a second for the whole port.
  void note_failure(const TlsStream& stream, std::error_code error);

  Engine& engine_;
  const std::shared_ptr<TlsSide> side_;
  const bool is_server_;

  // own_slots_ is added to the slot of every id of this port. It differs between servers' and clients' ports and is
  // above all slots of the engine, so that an id of one is never valid for another.
  const uint32_t own_slots_;
  std::string_view clear_answer_;
  SlotTable<Entry> streams_;
  TlsStream* current_ = nullptr;             // The stream about which the engine is calling back; null if none.
  std::vector<StreamId> scheduled_;          // Streams to be served, except current_.
  std::deque<StreamId> handshakes_waiting_;  // Handshakes that wait for a turn with a free step, oldest first.

  // Both lists hold streams of the engine that close_after_next_wait() was given, which appends them to
  // close_in_second_task_. The next before_wait() moves them to close_in_next_task_, and the wait that follows sends
  // their output. The before_wait() after that closes them.
  std::vector<StreamId> close_in_second_task_;
  std::vector<StreamId> close_in_next_task_;

  uint32_t steps_left_;       // Handshake steps that are left in this turn.
  int depth_ = 0;             // Number of EngineCallback objects that exist.
  bool task_added_ = false;   // True if the engine will call before_wait().
  bool called_back_ = false;  // True if an owner's callback was called since before_wait() began.
  LogLimiter failures_{std::chrono::seconds(1)};
  // alive_ is destroyed with this TlsPort. The task that call_before_wait() gives to the engine may run after the port
  // was destroyed. The task holds a weak pointer to *alive_ and does nothing if that has expired.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace peal::detail
