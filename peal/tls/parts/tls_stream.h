// SPDX-License-Identifier: BSD-3-Clause
// TlsStream: one stream of a TlsPort. It holds the TLS session, the output that is not encrypted ("sealed") yet, and
// what the owner of the stream has asked for.
//
// "Below" is the engine's stream that carries the encrypted bytes; "above" is the owner of the TlsStream. The owner's
// calls only record what is wanted and schedule the stream with the port. The owner's callbacks are called only from
// serve(), from resume_handshake() and from callbacks of the engine. The TlsStream owns the engine's stream until the
// engine has called on_closed().
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

  // queued(), held(), withheld(), waits_for_rest() and held_input() implement the StreamPort members queued_bytes(),
  // held_bytes(), withheld_bytes(), waits_for_rest() and held_input_bytes(). facts() implements layer_facts().
  size_t queued() const { return sealed_and_queued() + unsealed_bytes(true); }
  size_t held() const;
  size_t withheld() const { return withheld_; }
  bool waits_for_rest() const { return !waits_for_step_ && state_ != State::kFailed && !session_.in().empty(); }
  size_t held_input() const { return session_.in().held_bytes(); }
  Result<LayerFacts> facts() const;
  StreamId below() const { return below_; }
  StreamId id() const { return id_; }

  // Delivers decrypted input, and encrypts and sends queued output. Starts the handshake of an adopted client. The port
  // calls it inside the engine's wait(); it may call the owner's callbacks.
  void serve();

  // Continues a handshake that had to wait for a later turn, because TlsLimits::handshake_steps was used up in the
  // earlier ones.
  void resume_handshake();

  // Fails an assertion: a TLS stream cannot be detached.
  void refuse_detach();

  bool scheduled = false;  // True if the port will call serve().
  bool closed = false;     // True if the owner has called close().

 private:
  // The states of a stream:
  //   - kConnecting: the engine's stream is not connected yet.
  //   - kShaking: the handshake is in progress.
  //   - kOpen: the handshake has succeeded.
  //   - kFailed: the connection or its handshake has failed.
  enum class State : uint8_t { kConnecting, kShaking, kOpen, kFailed };

  // A queued file range, and the bytes that the owner sent after this file and before the next file.
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

  // Returns whether output may still be queued.
  bool takes_output() const { return state_ != State::kFailed && !wants_shutdown_ && !output_error_; }

  // Returns whether decrypted input may be delivered now.
  bool receives() const { return !closed && state_ == State::kOpen && wants_input_ && !end_reported_; }

  // Returns the buffer to which new output must be appended: the one after the last queued file, or plain_.
  Buffer& unsealed() { return files_.empty() ? plain_ : files_.back().after; }

  // Returns how many bytes are not encrypted yet; the bytes of files are counted only if `files` is set.
  size_t unsealed_bytes(bool files) const;

  // Returns how many of the plain bytes that were encrypted are still in the engine's queue. Returns at least 1 if that
  // queue holds any byte.
  size_t sealed_and_queued() const;
  void drop_unsealed();

  // Makes the SSL object and starts the session. Returns false if TlsSide::make_ssl() failed.
  bool begin_session();

  // Continues the handshake as far as the input allows. When the handshake has succeeded or failed, calls the owner's
  // on_connected().
  void shake_hands();

  // Returns whether the peer's first byte shows that the peer does not speak TLS. Returns false if no byte has arrived
  // yet.
  bool is_in_the_clear();

  // Moves an incomplete record that has arrived to as few blocks as possible and calls the owner's on_withheld(). Does
  // nothing if no byte of a record has arrived.
  void report_incomplete_record();

  // Sets the state to kFailed. If the handshake was in progress, also subtracts it from the handshakes that LayerStats
  // counts as under_way.
  void leave_handshake();
  void finish_handshake();
  void fail_handshake(std::error_code error);

  // Decrypts input and delivers it to the owner as long as input is left and the owner receives. When no input is left,
  // calls report_end_if_reached().
  void deliver();

  // Calls the owner's on_receive_end() if the input has ended. If more input may come, calls
  // report_incomplete_record(), which tells the owner if a record has arrived in part.
  void report_end_if_reached();

  // Sends the answers that OpenSSL has made while it read the peer's records. If the peer does not read these answers
  // and they exceed most_idle_bytes, ends the input with TlsTrouble::kFlood.
  void limit_answers();

  // Encrypts all queued bytes and gives them to the engine. Files are read and encrypted only while the engine's queue
  // is short. If the owner has called shutdown_send() and no output is left, sends close_notify and FIN.
  void seal();

  // Reads the next piece of the file range `front`, the first queued one, into plain_. After the last piece, also moves
  // to plain_ the bytes that were sent after the file.
  void seal_file(File& front);

  // Gives the session's records to the engine's stream.
  void flush();
  void fail_output(std::error_code error);

  // Makes the engine's stream receive if and only if the owner wants input and the end of the input was not reported.
  // Does nothing during the handshake, in which the TlsStream itself decides when the engine's stream receives.
  void switch_receiving_below();

  TlsPort& port_;
  StreamEvents& above_;
  const StreamId id_;
  StreamId below_;
  State state_ = State::kConnecting;
  bool wants_input_ = false;           // True if the owner has called receive(true).
  bool reports_sent_ = false;          // True from report_sent() until on_sent() was called with 0.
  bool wants_shutdown_ = false;        // True if the owner has called shutdown_send().
  bool close_notify_queued_ = false;   // True if this side has made a close_notify.
  bool end_reported_ = false;          // True if the owner's on_receive_end() was called.
  bool waits_for_step_ = false;        // True if the handshake waits for a turn with a free step.
  bool began_with_tls_ = false;        // True if the peer's first byte begins a TLS record.
  bool below_ended_ = false;           // True if the input of the engine's stream has ended.
  uint32_t answered_bytes_ = 0;        // Bytes of answers made since the engine's queue was last empty.
  size_t withheld_ = 0;                // Bytes received from the engine, minus plain bytes delivered to the owner.
  size_t sealed_bytes_ = 0;            // Plain bytes contained in the records of session_.out().
  mutable size_t overhead_bytes_ = 0;  // Bytes that TLS added to the output since the engine's queue was last empty.

  // The error with which the input of the engine's stream has ended. Empty if the input ended with a FIN. kFlood if
  // limit_answers() ended the input.
  std::error_code end_error_;
  std::error_code output_error_;  // Error that on_send_failed() has reported to the owner.
  std::error_code file_error_;    // Error of reading a file. Reported when all output before the file has been sent.
  TlsSession session_;            // TlsSession::begin() is called in the first step of the handshake.
  Buffer plain_;                  // Output to be encrypted next; the queued files come after it.
  std::vector<File> files_;
  // The name of the host that a client must reach. If the name is empty, the server's certificate must be for the
  // peer's address. The pointer is null on a server, and after the session has begun.
  std::unique_ptr<std::string> host_;
};

}  // namespace peal::detail
