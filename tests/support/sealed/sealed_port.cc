// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/sealed/sealed_port.h>

#include <unistd.h>

#include <cerrno>
#include <deque>
#include <optional>
#include <string>

#include <peal/base/assert.h>

namespace peal::test {

// SealedPort adds kOwnSlots to the slot numbers of its streams. The engine's own slot numbers are lower. So the port
// never takes an id of the engine for the id of one of its streams.
constexpr uint32_t kOwnSlots = 1U << 30;

class SealedStream final : private StreamEvents {
 public:
  SealedStream(SealedPort& port, Engine& engine, StreamEvents& above, StreamId id)
      : port_(port), engine_(engine), above_(above), id_(id) {}

  void connect(const SocketAddress& address, const ConnectOptions& options) {
    facts_.peer = options.host;
    accepted_ = false;
    below_ = engine_.connect(address, options, *this);
  }
  void adopt(LooseStream loose, const std::string& host) {
    facts_.peer = host;
    below_ = engine_.adopt(std::move(loose), *this);
    shake_hands();
  }
  void receive(bool on) {
    wants_ = on;
    follow();
    if (on) port_.touch(*this);
  }
  size_t send(std::string_view bytes) {
    if (takes_output() && !bytes.empty()) {
      if (pieces_.empty() || pieces_.back().file.file) pieces_.emplace_back();
      pieces_.back().bytes.append(bytes);
      port_.touch(*this);
    }
    return engine_.queued_bytes(below_) + unsealed(false);
  }
  void send_file(FileRange range) {
    if (!takes_output() || range.bytes == 0) return;
    pieces_.push_back({.bytes = {}, .file = std::move(range)});
    port_.touch(*this);
  }
  void report_sent() {
    reports_ = true;
    port_.touch(*this);
  }
  void shutdown_send() {
    if (!takes_output()) return;
    wants_end_ = true;
    port_.touch(*this);
  }
  // Closes the stream. Before that, sends the end mark (an empty record) if it was not sent yet. A peer that does not
  // seal gets the answer in plain text instead. With kReset, sends neither. Sends no mark during the handshake or after
  // an error of the output. Also sends no mark if queued output is dropped, so that the peer notices the loss.
  void close(CloseHow how) {
    const bool marks = state_ == State::kOpen && !marked_ && !output_error_ && pieces_.empty();
    const bool last_words = how != CloseHow::kReset && (marks || spoke_clearly_);
    if (!last_words) return engine_.close(below_, how);
    engine_.send_copy(below_, marks ? kEndMark : port_.clear_answer_);
    port_.leave(*this);
  }
  size_t queued() const { return sealed_and_queued() + unsealed(true); }
  size_t held() const { return engine_.held_bytes(below_) + unsealed(false); }
  const LayerFacts& facts() const { return facts_; }
  StreamId below() const { return below_; }
  StreamId id() const { return id_; }

  // Passes received bytes to the owner and sends queued output. Runs only inside the engine's wait() or shut(), because
  // callbacks of the owner are allowed only there.
  void serve() {
    touched = false;
    deliver();
    if (!closed) seal_pieces();
  }

  bool touched = false;
  bool closed = false;  // true after its owner has called close()

 private:
  enum class State : uint8_t { kShaking, kOpen, kFailed };
  struct Piece {
    std::string bytes;
    FileRange file;
  };

  // Returns how many of the owner's bytes are queued in the engine. Bytes that this layer has added do not count.
  // Returns at least 1 while the engine's queue is not empty, because 0 tells the owner that everything was sent.
  size_t sealed_and_queued() const {
    const size_t left = engine_.queued_bytes(below_);
    if (left == 0) added_ = 0;
    return left > added_ ? left - added_ : std::min<size_t>(left, 1);
  }
  void send_below(std::string_view sealed, size_t plain_bytes) {
    sealed_and_queued();
    added_ += sealed.size() - plain_bytes;
    engine_.send_copy(below_, sealed);
  }
  bool takes_output() const { return state_ != State::kFailed && !wants_end_ && !output_error_; }
  size_t unsealed(bool files) const {
    size_t sum = 0;
    for (const Piece& piece : pieces_) sum += piece.bytes.size() + (files ? piece.file.bytes : 0);
    return sum;
  }
  void shake_hands() {
    send_below(kSealHello, 0);
    engine_.receive(below_, true);
  }
  // Switches the engine's receiving on if the owner wants to receive and was not told the end of the input yet.
  // Otherwise switches receiving off. During the handshake, receiving stays on and follow() does nothing.
  void follow() {
    if (!closed && state_ == State::kOpen) engine_.receive(below_, wants_ && !end_told_);
  }
  void fail_handshake(std::error_code error) {
    state_ = State::kFailed;
    pieces_.clear();
    engine_.receive(below_, false);
    port_.told_ = true;
    above_.on_connected(error);
  }

  void on_connected(std::error_code error) override {
    const SealedPort::CallUp up(port_);
    if (closed) return;
    if (error) return fail_handshake(error);
    shake_hands();
  }
  void on_received(Buffer& bytes) override {
    const SealedPort::CallUp up(port_);
    if (closed) return;
    sealed_ += bytes.to_string();
    if (state_ == State::kShaking) {
      spoke_clearly_ = accepted_ && !sealed_.starts_with(kSealHello) && !port_.clear_answer_.empty();
      if (!sealed_.starts_with(kSealHello)) return fail_handshake(no_seal_hello());
      sealed_.erase(0, kSealHello.size());
      state_ = State::kOpen;
      follow();
      port_.touch(*this);
      port_.told_ = true;
      above_.on_connected({});
    }
    deliver();
  }
  void on_receive_end(std::error_code error) override {
    const SealedPort::CallUp up(port_);
    if (closed || state_ == State::kFailed) return;
    // The peer may have sent FIN without the end mark. The error is then the earlier error of the output if there was
    // one, and kTruncated otherwise.
    const std::error_code cut_short = output_error_ ? output_error_ : make_error_code(Trouble::kTruncated);
    end_ = error ? error : cut_short;
    if (state_ == State::kShaking) return fail_handshake(*end_);
    deliver();
  }
  void on_send_failed(std::error_code error) override {
    const SealedPort::CallUp up(port_);
    if (closed || state_ == State::kFailed) return;
    if (state_ == State::kShaking) return fail_handshake(error);
    fail_output(error);
  }
  void on_gone(std::error_code error) override {
    const SealedPort::CallUp up(port_);
    if (closed || state_ != State::kOpen) return;
    above_.on_gone(sealed_.empty() ? error : std::error_code{});
  }
  void on_sent(size_t) override {
    const SealedPort::CallUp up(port_);
    if (closed) return;
    seal_pieces();
    if (file_error_ && engine_.queued_bytes(below_) == 0) return fail_output(*file_error_);
    if (closed || !reports_ || state_ == State::kShaking) return;
    const size_t left = queued();
    reports_ = left > 0;
    above_.on_sent(left);
  }
  void on_output_lost(size_t bytes) override {
    above_.on_output_lost(bytes + unsealed(true));
    pieces_.clear();
  }
  void on_closed() override {
    StreamEvents& above = above_;
    if (const size_t lost = unsealed(true); lost > 0 && !closed) above.on_output_lost(lost);
    SlotTable<SealedPort::Entry>& streams = port_.streams_;
    const std::unique_ptr<SealedStream> self = std::move(streams[id_.slot - kOwnSlots].stream);
    streams.release(id_.slot - kOwnSlots);
    SealedPort::LateEnds* late = port_.late_ends_;
    if (late != nullptr && late->held && self->state_ == State::kOpen) return late->waiting.push_back(&above);
    above.on_closed();  // this call may destroy the port
  }
  void on_detached(LooseStream) override { PEAL_ASSERT(false, "stream {} was never detached", id_.slot); }

  void deliver() {
    while (!closed && state_ == State::kOpen && wants_ && !end_told_) {
      std::string plain;
      marked_by_peer_ = unseal(sealed_, plain) || marked_by_peer_;
      port_.told_ = port_.told_ || !plain.empty() || marked_by_peer_ || end_;
      if (!plain.empty()) {
        Buffer bytes(plain);
        above_.on_received(bytes);
      } else if (marked_by_peer_ || end_) {
        end_told_ = true;
        follow();
        above_.on_receive_end(marked_by_peer_ ? std::error_code{} : *end_);
      } else {
        return;
      }
    }
  }

  // Packs queued output into records and sends them. Reads files only while less than 64 KiB are queued.
  void seal_pieces() {
    constexpr size_t kMostFileBytes = 4 * kMostRecordBytes;
    if (state_ != State::kOpen || output_error_ || file_error_) return;
    std::string sealed;
    const size_t before = unsealed(true);
    while (!pieces_.empty()) {
      Piece& front = pieces_.front();
      seal(front.bytes, sealed);
      front.bytes.clear();
      if (front.file.bytes > 0) {
        if (engine_.queued_bytes(below_) + sealed.size() >= kMostFileBytes) break;
        if (const int error = seal_file(front.file, sealed); error != 0) {
          file_error_ = errno_code(error);
          break;
        }
        if (front.file.bytes > 0) continue;
      }
      pieces_.pop_front();
    }
    if (pieces_.empty() && wants_end_ && !marked_) sealed += kEndMark;
    if (!sealed.empty()) send_below(sealed, before - unsealed(true));
    if (pieces_.empty() && wants_end_ && !std::exchange(marked_, true)) engine_.shutdown_send(below_);
    if (reports_ || !pieces_.empty()) engine_.report_sent(below_);
  }
  static int seal_file(FileRange& file, std::string& sealed) {
    std::string bytes(std::min<uint64_t>(file.bytes, kMostRecordBytes), '\0');
    const ssize_t count = ::pread(file.file->get(), bytes.data(), bytes.size(), static_cast<off_t>(file.offset));
    if (count <= 0) return count == 0 ? EIO : errno;
    bytes.resize(static_cast<size_t>(count));
    seal(bytes, sealed);
    file.offset += bytes.size();
    file.bytes -= bytes.size();
    return 0;
  }
  void fail_output(std::error_code error) {
    if (output_error_) return;
    output_error_ = error;
    pieces_.clear();
    port_.told_ = true;
    above_.on_send_failed(error);
  }

  SealedPort& port_;
  Engine& engine_;
  StreamEvents& above_;
  const StreamId id_;
  StreamId below_;
  State state_ = State::kShaking;
  LayerFacts facts_{.protocol = "sealed", .cipher = "turned", .application = {}, .peer = {}, .names = {}};
  bool accepted_ = true;
  bool spoke_clearly_ = false;  // the peer did not seal, and will get an answer in plain text
  bool wants_ = false;          // the owner wants to receive
  bool reports_ = false;        // the owner has called report_sent(), and was not told yet that everything is sent
  bool wants_end_ = false;
  bool marked_ = false;  // this side's end mark is queued in the engine
  bool marked_by_peer_ = false;
  bool end_told_ = false;
  std::optional<std::error_code> end_;  // the error to report at the end of the input, if the end mark is missing
  std::error_code output_error_;
  std::optional<std::error_code> file_error_;  // reported when everything before the file is sent
  std::string sealed_;                         // received and not delivered
  std::deque<Piece> pieces_;
  mutable size_t added_ = 0;
};

SealedPort::SealedPort(Engine& engine, LateEnds* late_ends) : engine_(engine), late_ends_(late_ends) {}
SealedPort::~SealedPort() = default;

SealedStream* SealedPort::find(StreamId id) const {
  const Entry* entry = streams_.find(id.slot - kOwnSlots, id.generation);
  return entry == nullptr || entry->stream->closed ? nullptr : entry->stream.get();
}
StreamId SealedPort::below(StreamId id) const {
  const SealedStream* stream = find(id);
  return stream == nullptr ? StreamId{} : stream->below();
}

SealedStream& SealedPort::add(StreamEvents& events) {
  const uint32_t slot = streams_.acquire();
  Entry& entry = streams_[slot];
  entry.stream = std::make_unique<SealedStream>(*this, engine_, events, StreamId{slot + kOwnSlots, entry.generation});
  return *entry.stream;
}

StreamId SealedPort::connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) {
  SealedStream& stream = add(events);
  stream.connect(address, options);
  return stream.id();
}
StreamId SealedPort::adopt(LooseStream loose, StreamEvents& events) { return adopt_from(std::move(loose), {}, events); }
StreamId SealedPort::adopt_from(LooseStream loose, const std::string& host, StreamEvents& events) {
  SealedStream& stream = add(events);
  stream.adopt(std::move(loose), host);
  return stream.id();
}
void SealedPort::detach(StreamId id) {
  if (find(id) == nullptr) return engine_.detach({});
  PEAL_ASSERT(false, "sealed stream {} cannot be detached: hand its connection over before the layer begins", id.slot);
}
void SealedPort::touch(SealedStream& stream) {
  if (!std::exchange(stream.touched, true)) touched_.push_back(stream.id());
  if (depth_ == 0) call_before_wait();
}
void SealedPort::leave(SealedStream& stream) {
  leaving_.push_back(stream.below());
  call_before_wait();
}
void SealedPort::call_before_wait() {
  if (std::exchange(waits_, true)) return;
  engine_.before_wait([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return false;
    waits_ = told_ = false;
    {
      const CallUp up(*this);
    }
    for (const StreamId below : std::exchange(left_, std::exchange(leaving_, {}))) engine_.close(below);
    if (!left_.empty()) call_before_wait();
    return told_;
  });
}

void SealedPort::serve() {
  while (!touched_.empty()) {
    for (const StreamId id : std::exchange(touched_, {})) {
      if (SealedStream* stream = find(id)) stream->serve();
    }
  }
}

// If the stream is closed, functions that change a stream call the engine with an empty id. The engine does nothing and
// counts the call in stale_calls, as the engine does for its own closed streams.
void SealedPort::receive(StreamId id, bool on) {
  if (SealedStream* stream = find(id)) return stream->receive(on);
  engine_.receive({}, on);
}
size_t SealedPort::send(StreamId id, Buffer&& bytes) {
  const Buffer taken = std::move(bytes);
  return send_copy(id, taken.to_string());
}
size_t SealedPort::send_copy(StreamId id, std::string_view bytes) {
  SealedStream* stream = find(id);
  return stream != nullptr ? stream->send(bytes) : engine_.send_copy({}, bytes);
}
void SealedPort::report_sent(StreamId id) {
  if (SealedStream* stream = find(id)) return stream->report_sent();
  engine_.report_sent({});
}
void SealedPort::send_file(StreamId id, FileRange range) {
  if (SealedStream* stream = find(id)) return stream->send_file(std::move(range));
  engine_.send_file({}, std::move(range));
}
size_t SealedPort::queued_bytes(StreamId id) const {
  const SealedStream* stream = find(id);
  return stream == nullptr ? 0 : stream->queued();
}
size_t SealedPort::held_bytes(StreamId id) const {
  const SealedStream* stream = find(id);
  return stream == nullptr ? 0 : stream->held();
}
uint64_t SealedPort::unsent_bytes(StreamId id) const { return engine_.unsent_bytes(below(id)); }
void SealedPort::shutdown_send(StreamId id) {
  if (SealedStream* stream = find(id)) return stream->shutdown_send();
  engine_.shutdown_send({});
}
void SealedPort::close(StreamId id, CloseHow how) {
  SealedStream* stream = find(id);
  if (stream == nullptr) return engine_.close({}, how);
  stream->closed = true;
  stream->close(how);
}
Result<SocketAddress> SealedPort::local_address(StreamId id) const { return engine_.local_address(below(id)); }
Result<SocketAddress> SealedPort::peer_address(StreamId id) const { return engine_.peer_address(below(id)); }
Result<void> SealedPort::set_option(StreamId id, SocketOption option, int value) {
  return engine_.set_option(below(id), option, value);
}
Result<TcpFacts> SealedPort::tcp_facts(StreamId id) const { return engine_.tcp_facts(below(id)); }
Result<LayerFacts> SealedPort::layer_facts(StreamId id) const {
  const SealedStream* stream = find(id);
  if (stream == nullptr) return fail(EBADF);
  return stream->facts();
}

}  // namespace peal::test
