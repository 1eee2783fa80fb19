// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_stream.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>
#include <peal/tls/parts/tls_error.h>
#include <peal/tls/parts/tls_port.h>

namespace peal::detail {

// While the engine's queue holds this many bytes or more, seal() reads and encrypts no more of a file.
constexpr size_t kMostFileBytes = 4 * TlsSession::kMostRecordBytes;

TlsStream::TlsStream(TlsPort& port, StreamEvents& above, StreamId id)
    : port_(port), above_(above), id_(id), session_(port.side_->limits.most_idle_bytes) {
  ++port_.side_->under_way;
}

void TlsStream::leave_handshake() {
  if (state_ == State::kConnecting || state_ == State::kShaking) --port_.side_->under_way;
  state_ = State::kFailed;
}

void TlsStream::connect(const SocketAddress& address, const ConnectOptions& options) {
  host_ = std::make_unique<std::string>(options.host);
  below_ = port_.engine_.connect(address, options, *this);
}

// A client sends first, so its session begins in the next call of serve(). A server's session begins only when the
// whole hello has arrived, so that OpenSSL uses no memory for a silent peer.
void TlsStream::adopt(LooseStream loose, const std::string& host) {
  below_ = port_.engine_.adopt(std::move(loose), *this);
  state_ = State::kShaking;
  port_.engine_.receive(below_, true);
  if (port_.is_server_) return;
  host_ = std::make_unique<std::string>(host);
  port_.schedule(*this);
}

void TlsStream::receive(bool on) {
  wants_input_ = on;
  switch_receiving_below();
  if (on) port_.schedule(*this);
}

size_t TlsStream::send(Buffer&& bytes) {
  if (!takes_output()) bytes.clear();
  if (!bytes.empty()) {
    unsealed().append(std::move(bytes));
    port_.schedule(*this);
  }
  return port_.engine_.queued_bytes(below_) + unsealed_bytes(false);
}

size_t TlsStream::send_copy(std::string_view bytes) {
  if (takes_output() && !bytes.empty()) {
    unsealed().append(bytes);
    port_.schedule(*this);
  }
  return port_.engine_.queued_bytes(below_) + unsealed_bytes(false);
}

void TlsStream::send_file(FileRange range) {
  if (!takes_output() || range.bytes == 0) return;
  files_.push_back({.range = std::move(range), .after = {}});
  port_.schedule(*this);
}

void TlsStream::report_sent() {
  reports_sent_ = true;
  port_.schedule(*this);
}

void TlsStream::shutdown_send() {
  if (!takes_output()) return;
  wants_shutdown_ = true;
  port_.schedule(*this);
}

// Output that is not encrypted yet is dropped. A close_notify is sent only if nothing was dropped, because it tells the
// peer that the output is complete.
void TlsStream::close(CloseHow how) {
  closed = true;
  const bool complete = state_ == State::kOpen && !output_error_ && unsealed_bytes(true) == 0;
  if (complete && !close_notify_queued_ && how == CloseHow::kNormal) session_.end();
  const bool has_output = !session_.out().empty();
  const bool has_alerted = state_ == State::kFailed || session_.error();
  if (how == CloseHow::kReset || !(has_output || has_alerted)) return port_.engine_.close(below_, how);
  if (has_output) port_.engine_.send(below_, std::move(session_.out()));
  port_.close_after_next_wait(below_);
}

size_t TlsStream::held() const {
  size_t sum = port_.engine_.held_bytes(below_) + plain_.held_bytes();
  for (const File& file : files_) sum += file.after.held_bytes();
  return sum;
}

size_t TlsStream::unsealed_bytes(bool files) const {
  size_t sum = plain_.size();
  for (const File& file : files_) sum += file.after.size() + (files ? file.range.bytes : 0);
  return sum;
}

// The engine's queue does not say which of its bytes TLS has added. This function assumes that they are sent last, so
// the result never exceeds the plain bytes that are left. It is at least 1 while the queue holds any byte.
size_t TlsStream::sealed_and_queued() const {
  const size_t left = port_.engine_.queued_bytes(below_);
  if (left == 0) overhead_bytes_ = 0;
  return left > overhead_bytes_ ? left - overhead_bytes_ : std::min<size_t>(left, 1);
}

void TlsStream::drop_unsealed() {
  plain_.clear();
  files_.clear();
}

Result<LayerFacts> TlsStream::facts() const {
  if (state_ != State::kOpen) return fail(ENOTCONN);
  return session_.facts();
}

void TlsStream::switch_receiving_below() {
  if (!closed && state_ == State::kOpen) port_.engine_.receive(below_, wants_input_ && !end_reported_);
}

bool TlsStream::begin_session() {
  const std::unique_ptr<std::string> host = std::move(host_);  // Null on a server, which needs no peer address.
  const auto peer = host ? port_.engine_.peer_address(below_).value_or(SocketAddress()) : SocketAddress();
  SslPtr ssl = port_.side_->make_ssl(host ? *host : std::string(), peer);
  if (ssl) session_.begin(std::move(ssl));
  return session_.begun();
}

void TlsStream::shake_hands() {
  if (is_in_the_clear()) return fail_handshake(tls_error(TlsTrouble::kNotTls));
  if (!session_.begun() && !begin_session()) return fail_handshake(tls_error(TlsTrouble::kNobodyToVerify));
  if (session_.shake_hands()) {
    const long verdict = port_.side_->verify_further(session_.ssl());
    if (verdict != X509_V_OK) return fail_handshake(tls_verify_error(verdict));
    return finish_handshake();
  }
  if (session_.error()) return fail_handshake(session_.error());
  flush();
  if (below_ended_) return fail_handshake(end_error_ ? end_error_ : make_error_code(Trouble::kTruncated));
  report_incomplete_record();
}

// The first record of a peer that speaks TLS is a handshake message or an alert (RFC 8446 5.1).
bool TlsStream::is_in_the_clear() {
  // The possible first bytes: of an alert, of a handshake message, and of a hello of SSL 2. OpenSSL refuses a hello of
  // SSL 2 with an error that says why.
  constexpr std::string_view kTypes = "\x15\x16\x80";
  const std::string_view first = session_.in().front();
  if (began_with_tls_ || first.empty()) return false;
  began_with_tls_ = kTypes.contains(first[0]);
  return !began_with_tls_;
}

void TlsStream::report_incomplete_record() {
  if (session_.in().empty()) return;
  session_.in().compact();
  port_.called_back_ = true;
  above_.on_withheld();
}

void TlsStream::finish_handshake() {
  leave_handshake();
  state_ = State::kOpen;
  ++port_.side_->handshakes;
  if (SSL_session_reused(session_.ssl()) == 1) ++port_.side_->resumed;
  flush();
  switch_receiving_below();
  port_.schedule(*this);
  port_.called_back_ = true;
  above_.on_connected({});
}

void TlsStream::fail_handshake(std::error_code error) {
  leave_handshake();
  ++port_.side_->failed;
  drop_unsealed();
  flush();
  if (error == tls_error(TlsTrouble::kNotTls)) {
    ++port_.side_->in_the_clear;
    const std::string_view first = session_.in().front();
    if (port_.is_server_ && first[0] >= 'A' && first[0] <= 'Z' && !port_.clear_answer_.empty()) {
      port_.engine_.send_copy(below_, port_.clear_answer_);
    }
  }
  port_.note_failure(*this, error);
  port_.engine_.receive(below_, false);
  port_.called_back_ = true;
  above_.on_connected(error);
}

void TlsStream::resume_handshake() {
  waits_for_step_ = false;
  if (closed || state_ != State::kShaking) return;
  shake_hands();
  if (!closed && state_ == State::kShaking) port_.engine_.receive(below_, true);
}

void TlsStream::on_connected(std::error_code error) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed) return;
  if (error) {
    leave_handshake();
    above_.on_connected(error);
    return;
  }
  state_ = State::kShaking;
  port_.engine_.receive(below_, true);
  shake_hands();
}

void TlsStream::on_received(Buffer& bytes) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed || state_ == State::kFailed) return;
  withheld_ += bytes.size();
  session_.in().append(std::move(bytes));
  if (state_ == State::kOpen) [[likely]]
    return deliver();
  if (waits_for_step_) return;
  // A server begins its session only when the hello is complete. Until then, and for any incomplete record, no step is
  // taken, so that a slow peer does not use up the steps of a turn.
  const bool can_step = session_.begun() ? session_.has_record() : session_.has_hello();
  if (!can_step && !is_in_the_clear()) return report_incomplete_record();
  if (port_.take_step_or_wait(*this)) return shake_hands();
  waits_for_step_ = true;
  session_.in().compact();
  port_.engine_.receive(below_, false);
}

void TlsStream::deliver() {
  while (receives()) {
    if (!session_.has_input()) return report_end_if_reached();
    Buffer plain;
    session_.read(plain);
    if (!session_.out().empty()) limit_answers();
    if (plain.empty()) return report_end_if_reached();
    withheld_ -= plain.size();
    port_.called_back_ = true;
    above_.on_received(plain);
  }
}

// A peer can send key updates, which this side has to answer, and never read the answers. Without this limit the
// engine's queue would grow forever.
void TlsStream::limit_answers() {
  if (port_.engine_.queued_bytes(below_) == 0) answered_bytes_ = 0;
  answered_bytes_ += static_cast<uint32_t>(session_.out().size());
  flush();
  if (answered_bytes_ <= port_.side_->limits.most_idle_bytes || end_error_) return;
  below_ended_ = true;
  end_error_ = tls_error(TlsTrouble::kFlood);
}

void TlsStream::report_end_if_reached() {
  if (!session_.peer_ended() && !session_.error() && !below_ended_) return report_incomplete_record();
  std::error_code error;
  if (session_.error()) {
    error = session_.error();
    port_.note_failure(*this, error);
  } else if (!session_.peer_ended()) {
    // A FIN without close_notify is the error kTruncated. If sending has failed before, that error is reported instead,
    // because it is the cause of the FIN as well.
    error = end_error_ ? end_error_ : output_error_ ? output_error_ : make_error_code(Trouble::kTruncated);
  }
  end_reported_ = true;
  switch_receiving_below();
  port_.called_back_ = true;
  above_.on_receive_end(error);
}

void TlsStream::on_receive_end(std::error_code error) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed || state_ == State::kFailed) return;
  below_ended_ = true;
  end_error_ = error;
  if (state_ == State::kOpen) return deliver();
  // If the stream waits for a step, its input is processed first: the input may hold an alert that says why the peer
  // has ended.
  if (!waits_for_step_) fail_handshake(error ? error : make_error_code(Trouble::kTruncated));
}

void TlsStream::on_gone(std::error_code error) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed || state_ != State::kOpen) return;
  above_.on_gone(session_.has_input() ? std::error_code{} : error);
}

void TlsStream::on_send_failed(std::error_code error) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed || state_ == State::kFailed) return;
  if (state_ == State::kOpen) {
    fail_output(error);
  } else {
    fail_handshake(error);
  }
}

void TlsStream::fail_output(std::error_code error) {
  if (output_error_) return;
  output_error_ = error;
  drop_unsealed();
  port_.called_back_ = true;
  above_.on_send_failed(error);
}

void TlsStream::on_sent(size_t) {
  const TlsPort::EngineCallback up(port_, this);
  if (closed || state_ == State::kFailed) return;
  seal();
  if (file_error_ && port_.engine_.queued_bytes(below_) == 0) return fail_output(file_error_);
  if (closed || !reports_sent_ || state_ != State::kOpen) return;
  const size_t left = queued();
  reports_sent_ = left > 0;
  above_.on_sent(left);
}

void TlsStream::on_output_lost(size_t bytes) {
  above_.on_output_lost(bytes + unsealed_bytes(true));
  drop_unsealed();
}

void TlsStream::on_closed() {
  const std::unique_ptr<TlsStream> self = port_.take(id_);
  leave_handshake();
  if (const size_t lost = unsealed_bytes(true); lost > 0 && !closed) above_.on_output_lost(lost);
  above_.on_closed();  // This call may destroy the port.
}

void TlsStream::on_detached(LooseStream) { refuse_detach(); }

void TlsStream::refuse_detach() {
  PEAL_ASSERT(false, "TLS stream {} cannot be detached: hand its connection over before TLS begins", id_.slot);
}

void TlsStream::serve() {
  if (state_ == State::kShaking && host_) return shake_hands();  // A client whose connection was adopted.
  deliver();
  if (!closed) seal();
}

void TlsStream::seal() {
  if (state_ != State::kOpen || output_error_ || file_error_) return;
  while (!file_error_) {
    while (!plain_.empty()) {
      const size_t sealed = session_.write(plain_);
      if (sealed == 0) return fail_output(session_.error());
      sealed_bytes_ += sealed;
    }
    if (files_.empty()) break;
    flush();
    if (port_.engine_.queued_bytes(below_) >= kMostFileBytes) break;
    seal_file(files_.front());
  }
  const bool all = plain_.empty() && files_.empty();
  const bool shuts_down = all && wants_shutdown_ && !close_notify_queued_;
  if (shuts_down) {
    close_notify_queued_ = true;
    session_.end();
  }
  flush();
  if (shuts_down) port_.engine_.shutdown_send(below_);
  if (reports_sent_ || !all) port_.engine_.report_sent(below_);
}

void TlsStream::seal_file(File& front) {
  FileRange& range = front.range;
  const size_t wanted = std::min<uint64_t>(range.bytes, TlsSession::kMostRecordBytes);
  const std::span<std::byte> room = plain_.prepare(wanted);
  const ssize_t count = ::pread(range.file->get(), room.data(), wanted, static_cast<off_t>(range.offset));
  if (count <= 0) {
    file_error_ = errno_code(count == 0 ? EIO : errno);
    plain_.clear();
    return;
  }
  plain_.commit(static_cast<size_t>(count));
  range.offset += static_cast<size_t>(count);
  range.bytes -= static_cast<size_t>(count);
  if (range.bytes > 0) return;
  plain_.append(std::move(front.after));
  files_.erase(files_.begin());
}

void TlsStream::flush() {
  Buffer& out = session_.out();
  if (out.empty()) return;
  sealed_and_queued();
  overhead_bytes_ += out.size() - std::exchange(sealed_bytes_, 0);
  port_.engine_.send(below_, std::move(out));
}

}  // namespace peal::detail
