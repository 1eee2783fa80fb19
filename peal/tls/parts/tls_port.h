// SPDX-License-Identifier: BSD-3-Clause
// TlsPort: the layer: a StreamPort whose streams are TLS over an engine's. What a call up sends is sealed, and leaves,
// when that call returns: many small sends become one record and one system call. What is sent outside of one is sealed
// before the engine waits.
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

  uint64_t unsent_bytes(StreamId id) const override { return engine_.unsent_bytes(below(id)); }
  Result<SocketAddress> local_address(StreamId id) const override { return engine_.local_address(below(id)); }
  Result<SocketAddress> peer_address(StreamId id) const override { return engine_.peer_address(below(id)); }
  Result<void> set_option(StreamId id, SocketOption option, int value) override {
    return engine_.set_option(below(id), option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId id) const override { return engine_.tcp_facts(below(id)); }

 private:
  friend class TlsStream;
  // While one lives the engine has called up about `stream`; what was touched meanwhile is served at its end.
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

  // Null: the id is dead, or its owner has closed it.
  TlsStream* find(StreamId id) const {
    const Entry* entry = streams_.find(id.slot - own_slots_, id.generation);
    return entry == nullptr || entry->stream->closed ? nullptr : entry->stream.get();
  }
  // A dead id is the engine's to count: it is given one of its own.
  template <class Answer, class... Parameters, class... Arguments>
  Answer call(StreamId id, Answer (TlsStream::*method)(Parameters...), Arguments&&... arguments) {
    if (TlsStream* stream = find(id)) [[likely]]
      return (stream->*method)(std::forward<Arguments>(arguments)...);
    engine_.receive({}, false);
    return Answer();
  }
  template <class Answer>
  Answer query(StreamId id, Answer (TlsStream::*question)() const) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? Answer() : (stream->*question)();
  }
  StreamId below(StreamId id) const {
    const TlsStream* stream = find(id);
    return stream == nullptr ? StreamId{} : stream->below();
  }
  TlsStream& add(StreamEvents& events);
  // Its last completion: it is destroyed.
  std::unique_ptr<TlsStream> take(StreamId id);
  // The stream has something to seal or to deliver: when the call up is over, or in the next wait.
  void schedule(TlsStream& stream);
  void end_engine_callback(TlsStream* outer);
  // The stream's last words are queued: it is closed after the next wait, whether they found room or not.
  void close_after_next_wait(StreamId below);
  // Whether there is a step of a handshake left in this turn. If not, the stream is asked to go on in one to come.
  bool take_step_or_wait(const TlsStream& stream);
  void call_before_wait();
  bool before_wait();
  void serve_scheduled();
  void note_failure(const TlsStream& stream, std::error_code error);

  Engine& engine_;
  const std::shared_ptr<TlsSide> side_;
  const bool is_server_;
  const uint32_t own_slots_;  // where its begin, so that the id of another port is never taken for one of this
  std::string_view clear_answer_;
  SlotTable<Entry> streams_;
  TlsStream* current_ = nullptr;                // whose call up this is
  std::vector<StreamId> scheduled_;             // besides
  std::deque<StreamId> handshakes_waiting_;     // wait for a turn with a step left
  std::vector<StreamId> close_in_second_task_;  // by what is below, as are the next
  std::vector<StreamId> close_in_next_task_;    // a wait has begun since
  uint32_t steps_left_;
  int depth_ = 0;
  bool task_added_ = false;   // the engine has a task of this
  bool called_back_ = false;  // somebody, since the task began
  LogLimiter failures_{std::chrono::seconds(1)};
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace peal::detail
