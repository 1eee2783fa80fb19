// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_port.h>

#include <cerrno>

#include <peal/base/log.h>

namespace peal::detail {

std::unique_ptr<StreamPort> make_tls_port(Engine& engine, std::shared_ptr<TlsSide> side, bool is_server) {
  return std::make_unique<TlsPort>(engine, std::move(side), is_server);
}

TlsPort::TlsPort(Engine& engine, std::shared_ptr<TlsSide> side, bool is_server)
    : engine_(engine),
      side_(std::move(side)),
      is_server_(is_server),
      own_slots_(1U << (is_server ? 30 : 31)),
      steps_left_(side_->limits.handshake_steps) {}

TlsStream& TlsPort::add(StreamEvents& events) {
  const uint32_t slot = streams_.acquire();
  Entry& entry = streams_[slot];
  entry.stream = std::make_unique<TlsStream>(*this, events, StreamId{slot + own_slots_, entry.generation});
  return *entry.stream;
}

std::unique_ptr<TlsStream> TlsPort::take(StreamId id) {
  std::unique_ptr<TlsStream> stream = std::move(streams_[id.slot - own_slots_].stream);
  streams_.release(id.slot - own_slots_);
  return stream;
}

void TlsPort::schedule(TlsStream& stream) {
  if (std::exchange(stream.scheduled, true)) return;
  if (&stream != current_) scheduled_.push_back(stream.id());
  if (depth_ == 0) call_before_wait();
}

void TlsPort::end_engine_callback(TlsStream* outer) {
  if (depth_ == 1) {
    while (current_ != nullptr && std::exchange(current_->scheduled, false)) {
      if (!current_->closed) current_->serve();
    }
    current_ = nullptr;
    if (!scheduled_.empty()) serve_scheduled();
  }
  --depth_;
  current_ = outer;
}

void TlsPort::serve_scheduled() {
  while (!scheduled_.empty()) {
    for (const StreamId id : std::exchange(scheduled_, {})) {
      TlsStream* stream = find(id);
      if (stream != nullptr && std::exchange(stream->scheduled, false)) stream->serve();
    }
  }
}

void TlsPort::close_after_next_wait(StreamId below) {
  close_in_second_task_.push_back(below);
  call_before_wait();
}

bool TlsPort::take_step_or_wait(const TlsStream& stream) {
  call_before_wait();
  if (steps_left_ > 0 && handshakes_waiting_.empty()) {
    --steps_left_;
    return true;
  }
  handshakes_waiting_.push_back(stream.id());
  return false;
}

void TlsPort::call_before_wait() {
  if (std::exchange(task_added_, true)) return;
  engine_.before_wait([this, alive = std::weak_ptr(alive_)] { return !alive.expired() && before_wait(); });
}

bool TlsPort::before_wait() {
  task_added_ = called_back_ = false;
  {
    const EngineCallback up(*this);
    steps_left_ = side_->limits.handshake_steps;
    while (steps_left_ > 0 && !handshakes_waiting_.empty()) {
      TlsStream* stream = find(handshakes_waiting_.front());
      handshakes_waiting_.pop_front();
      if (stream == nullptr) continue;
      --steps_left_;
      stream->resume_handshake();
    }
  }

  // Closes the streams whose last output was sent in the previous wait(). The streams that were added after that move
  // to close_in_next_task_, so that the next before_wait() closes them.
  for (const StreamId below : std::exchange(close_in_next_task_, std::exchange(close_in_second_task_, {}))) {
    engine_.close(below);
  }
  if (!close_in_next_task_.empty() || !handshakes_waiting_.empty() || steps_left_ < side_->limits.handshake_steps) {
    call_before_wait();
  }
  return called_back_;
}

void TlsPort::note_failure(const TlsStream& stream, std::error_code error) {
  const auto suppressed = failures_.admit(engine_.now());
  if (!suppressed) return;
  const Result<SocketAddress> peer = engine_.peer_address(stream.below());
  PEAL_LOG_INFO("TLS with {} failed: {} ({} more like it)", peer ? peer->to_string() : "a disconnected peer",
                error.message(), *suppressed);
}

StreamId TlsPort::connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) {
  TlsStream& stream = add(events);
  stream.connect(address, options);
  return stream.id();
}

StreamId TlsPort::adopt_from(LooseStream loose, const std::string& host, StreamEvents& events) {
  TlsStream& stream = add(events);
  stream.adopt(std::move(loose), host);
  return stream.id();
}

Result<LayerFacts> TlsPort::layer_facts(StreamId id) const {
  const TlsStream* stream = find(id);
  return stream == nullptr ? fail(EBADF) : stream->facts();
}

}  // namespace peal::detail
