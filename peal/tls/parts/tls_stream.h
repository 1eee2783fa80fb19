// SPDX-License-Identifier: BSD-3-Clause
// TlsStream: one stream of a TlsPort: its session, what waits to be sealed, and what it has told its owner.
//
// Calls down only take note and schedule() the port; all calls up come from serve() and from what the engine reports.
// It owns its end of the stream below until that has closed.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include <peal/engine/engine.h>
#include <peal/tls/parts/tls_session.h>

namespace peal::detail {

class TlsPort;

class TlsStream final : private StreamEvents {
 public:
  TlsStream(TlsPort& port, StreamEvents& above, StreamId id);
  ~TlsStream() { leave_handshake(); }

  void connect(const SocketAddress& address, const ConnectOptions& options);
  void adopt(LooseStream loose, const std::string& host);
  void receive(bool on);
  size_t send(Buffer&& bytes);
  size_t send_copy(std::string_view bytes);
  void send_file(FileRange range);
  void report_sent();
  void shutdown_send();
  void close(CloseHow how);

  size_t queued() const { return sealed_and_queued() + unsealed_bytes(true); }
  size_t held() const;
  size_t withheld() const { return withheld_; }
  bool waits_for_rest() const { return !waits_for_step_ && state_ != State::kFailed && !session_.in().empty(); }
  size_t held_input() const { return session_.in().held_bytes(); }
  Result<LayerFacts> facts() const;
  StreamId below() const { return below_; }
  StreamId id() const { return id_; }

  // Inside a wait: makes calls up.
  void serve();
  // A turn with room for a step of its handshake has come.
  void resume_handshake();

  void refuse_detach();

  bool scheduled = false;
  bool closed = false;  // by its owner

 private:
  enum class State : uint8_t { kConnecting, kShaking, kOpen, kFailed };
  // A file, and what was sent after it.
  struct File {
    FileRange range;
    Buffer after;
  };

  void on_connected(std::error_code error) override;
  void on_received(Buffer& bytes) override;
  void on_receive_end(std::error_code error) override;
  void on_send_failed(std::error_code error) override;
  void on_gone(std::error_code error) override;
  void on_sent(size_t left_bytes) override;
  void on_output_lost(size_t bytes) override;
  void on_closed() override;
  void on_detached(LooseStream stream) override;

  bool takes_output() const { return state_ != State::kFailed && !wants_shutdown_ && !output_error_; }
  bool receives() const { return !closed && state_ == State::kOpen && wants_input_ && !end_reported_; }
  Buffer& unsealed() { return files_.empty() ? plain_ : files_.back().after; }
  size_t unsealed_bytes(bool files) const;
  size_t sealed_and_queued() const;
  void drop_unsealed();
  bool begin_session();
  void shake_hands();
  bool is_in_the_clear();
  void report_incomplete_record();
  void leave_handshake();
  void finish_handshake();
  void fail_handshake(std::error_code error);
  void deliver();
  void report_end_if_reached();
  void limit_answers();
  void seal();
  void seal_file(File& front);
  void flush();
  void fail_output(std::error_code error);
  void switch_receiving_below();

  TlsPort& port_;
  StreamEvents& above_;
  const StreamId id_;
  StreamId below_;
  State state_ = State::kConnecting;
  bool wants_input_ = false;          // its owner receives
  bool reports_sent_ = false;         // its owner asked for reports, and has not heard of 0
  bool wants_shutdown_ = false;       // shutdown_send()
  bool close_notify_queued_ = false;  // our close_notify is queued below
  bool end_reported_ = false;
  bool waits_for_step_ = false;        // for a step of its handshake
  bool began_with_tls_ = false;        // the peer's first byte was one of TLS
  bool below_ended_ = false;           // what is below
  uint32_t answered_bytes_ = 0;        // records that reading has caused, since nothing was queued below
  size_t withheld_ = 0;                // received, less what was delivered
  size_t sealed_bytes_ = 0;            // plain ones, of what the session has for below
  mutable size_t overhead_bytes_ = 0;  // by sealing, since nothing was queued below
  std::error_code end_error_;          // what is below has ended with
  std::error_code output_error_;       // told
  std::error_code file_error_;         // told once what came before it is out
  TlsSession session_;                 // begun with the first step
  Buffer plain_;                       // waits to be sealed; the files after it
  std::vector<File> files_;
  std::unique_ptr<std::string> host_;  // until the session begins
};

}  // namespace peal::detail
