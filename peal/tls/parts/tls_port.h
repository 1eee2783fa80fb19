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

  // These call the engine for the stream that carries `id`.
  uint64_t unsent_bytes(StreamId id) const override { return engine_.unsent_bytes(below(id)); }
  Result<SocketAddress> local_address(StreamId id) const override { return engine_.local_address(below(id)); }
  Result<SocketAddress> peer_address(StreamId id) const override { return engine_.peer_address(below(id)); }
  Result<void> set_option(StreamId id, SocketOption option, int value) override {
    return engine_.set_option(below(id), option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId id) const override { return engine_.tcp_facts(below(id)); }

 private:
  friend class TlsStream;

  // Exists while the engine calls a callback about `stream`, or while the port's own task runs if that is null. When
  // the outermost one is destroyed, the streams that were scheduled meanwhile are served.
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

  // Returns the stream; null if the id is dead or the owner has closed the stream.
  TlsStream* find(StreamId id) const {
    const Entry* entry = streams_.find(id.slot - own_slots_, id.generation);
    return entry == nullptr || entry->stream->closed ? nullptr : entry->stream.get();
  }

  // Calls `method` of the stream. If the id is dead, calls the engine with a dead id instead, so that the engine counts
  // a stale call.
  template <class Answer, class... Parameters, class... Arguments>
  Answer call(StreamId id, Answer (TlsStream::*method)(Parameters...), Arguments&&... arguments) {
    if (TlsStream* stream = find(id)) [[likely]]
      return (stream->*method)(std::forward<Arguments>(arguments)...);
    engine_.receive({}, false);
    return Answer();
  }

  // Returns the result of `question`; a zero if the id is dead.
  template <class Answer>
  Answer query(StreamId id, Answer (TlsStream::*question)() const) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? Answer() : (stream->*question)();
  }

  // Returns the id of the engine's stream that carries `id`; a dead id if `id` is dead.
  StreamId below(StreamId id) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? StreamId{} : stream->below();
  }
  TlsStream& add(StreamEvents& events);

  // Removes a stream after its last completion and gives it to the caller, who destroys it.
  std::unique_ptr<TlsStream> take(StreamId id);

  // Notes that the stream has something to encrypt or to deliver. The port serves it when the engine's current callback
  // ends or, outside of callbacks, in the next wait().
  void schedule(TlsStream& stream);

  // Serves the scheduled streams if the outermost callback has ended, and restores `outer` as the current stream.
  void end_engine_callback(TlsStream* outer);

  // Closes a stream of the engine after the next wait(). That wait sends the stream's last records as far as the kernel
  // has room.
  void close_after_next_wait(StreamId below);

  // Returns true if the stream may do a step of its handshake in this turn, and counts that step. Otherwise appends the
  // stream to handshakes_waiting_, and a later turn calls its resume_handshake().
  bool take_step_or_wait(const TlsStream& stream);

  // Asks the engine to run before_wait() in its next wait().
  void call_before_wait();

  // Begins a turn: continues waiting handshakes, serves scheduled streams, and closes those that are due. Returns
  // whether a callback of an owner was called.
  bool before_wait();
  void serve_scheduled();

  // Logs a failure, at most once a second.
  void note_failure(const TlsStream& stream, std::error_code error);

  Engine& engine_;
  const std::shared_ptr<TlsSide> side_;
  const bool is_server_;

  // Added to the slot of every id. Ids of the engine, of servers' ports and of clients' ports therefore never mix.
  const uint32_t own_slots_;
  std::string_view clear_answer_;
  SlotTable<Entry> streams_;
  TlsStream* current_ = nullptr;             // The stream about which the engine is calling back; null if none.
  std::vector<StreamId> scheduled_;          // Streams to be served, except current_.
  std::deque<StreamId> handshakes_waiting_;  // Handshakes that wait for a turn with a free step, oldest first.

  // Streams of the engine that close_after_next_wait() was given. The first before_wait() moves them to the second
  // list, and the wait that follows sends their output. The second before_wait() closes them.
  std::vector<StreamId> close_in_second_task_;
  std::vector<StreamId> close_in_next_task_;

  uint32_t steps_left_;       // Handshake steps that are left in this turn.
  int depth_ = 0;             // Number of EngineCallback objects that exist.
  bool task_added_ = false;   // True if the engine will call before_wait().
  bool called_back_ = false;  // True if an owner's callback was called since before_wait() began.
  LogLimiter failures_{std::chrono::seconds(1)};
  // Destroyed with the port. The engine's task holds a weak pointer to it and does nothing when it has expired.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace peal::detail
