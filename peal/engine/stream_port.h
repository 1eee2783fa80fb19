// SPDX-License-Identifier: BSD-3-Clause
// StreamPort: where a stream's bytes go to and come from: the stream half of an Engine, or of a layer over one. A
// Connection and a generator's session point to one and cannot tell which it is. The rules are Engine's: no completion
// inside a call down, ids that are checked, one last completion for each stream. A port is used on its loop's thread;
// its streams' ids are its own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/layer_facts.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal {

// Names a stream of one port, or a listener or watch of one engine. The default names nothing.
template <class Tag>
struct EngineId {
  uint32_t slot = 0;
  uint32_t generation = 0;  // 0 is never given out
  explicit operator bool() const { return generation != 0; }
  // As one word: asked on every send.
  bool operator==(const EngineId& other) const {
    return std::bit_cast<uint64_t>(*this) == std::bit_cast<uint64_t>(other);
  }
};
using StreamId = EngineId<struct StreamTag>;

// A connected stream that belongs to no engine: what accept yields, adopt takes and detach gives back. It may travel to
// another thread; destroying it closes the connection.
// Bytes that its last engine's kernel had handed over by the time of detach() travel with it.
class LooseStream {
 public:
  // The end of a connection that is no fd, of an engine that has none; destroying it closes the connection.
  class Foreign {
   public:
    virtual ~Foreign() = default;
  };

  explicit LooseStream(Fd fd, Buffer early = {}) : fd_(std::move(fd)), early_(std::move(early)) {}
  explicit LooseStream(std::unique_ptr<Foreign> foreign, Buffer early = {})
      : foreign_(std::move(foreign)), early_(std::move(early)) {}
  Fd take_fd() && { return std::move(fd_); }
  // Null when it is an fd.
  std::unique_ptr<Foreign> take_foreign() { return std::move(foreign_); }
  // To be delivered before anything that is read from the fd.
  Buffer& early() { return early_; }

 private:
  Fd fd_;
  std::unique_ptr<Foreign> foreign_;
  Buffer early_;
};

// `bytes` of an open file from `offset` on. The fd is closed with its last holder; engines never move its position.
struct FileRange {
  std::shared_ptr<const Fd> file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class StreamEvents {
 public:
  // connect() succeeded, or failed with `error`; the owner then closes. So for what was adopted by a port whose
  // adopts_open() is false.
  virtual void on_connected(std::error_code error) = 0;
  // Bytes arrived. Take them by moving or consuming; what is left in `bytes` on return is dropped.
  virtual void on_received(Buffer& bytes) = 0;
  // Nothing more will be received: the peer's FIN when `error` is empty. Sending may go on after a FIN.
  virtual void on_receive_end(std::error_code error) = 0;
  // Bytes arrived that a layer cannot deliver before the rest is here: half a record. Also before on_connected.
  virtual void on_withheld() {}
  // Output failed (EPIPE, ECONNRESET, ...): what was queued is dropped and later sends do nothing. What the peer sent
  // before is still delivered.
  virtual void on_send_failed(std::error_code error) = 0;
  // While nothing is received: the connection is gone by an error, mostly the peer's RST. With an `error` nothing is
  // left to receive, and the end has that error; without, there is. Told again at the next pause. Where output is
  // queued on_send_failed comes instead; poll and select do not see it behind a FIN, select not behind data.
  virtual void on_gone(std::error_code /*error*/) {}
  // Progress after report_sent(): `left_bytes` wait in the engine's queue.
  virtual void on_sent(size_t left_bytes) = 0;
  // The engine has shut, and so much of what was queued is sent by nobody. on_closed follows.
  virtual void on_output_lost(size_t /*bytes*/) {}
  // Last completion after close(): no block, fd or pointer of this stream is held any more.
  virtual void on_closed() = 0;
  // Last completion after detach().
  virtual void on_detached(LooseStream stream) = 0;

 protected:
  ~StreamEvents() = default;
};

struct SocketOptions {
  bool no_delay = true;          // TCP_NODELAY: peal coalesces what a callback sends, so Nagle would only add delay
  bool keep_alive = false;       // SO_KEEPALIVE: deadlines above find dead peers sooner
  int send_buffer_bytes = 0;     // SO_SNDBUF; 0 leaves the kernel's auto-tuning on
  int receive_buffer_bytes = 0;  // SO_RCVBUF; 0 leaves the kernel's auto-tuning on
};

struct ConnectOptions {
  SocketOptions socket = {};
  SocketAddress source = {};  // bind(2) before connecting; the default lets the kernel choose
  // Whom a layer is to reach, "example.org", which connect() copies; empty: whoever has the address.
  std::string_view host = {};
};

enum class SocketOption : uint8_t { kNoDelay, kKeepAlive, kSendBuffer, kReceiveBuffer };
enum class CloseHow : uint8_t {
  kNormal,  // close(2): queued output is dropped, what the kernel already has is still sent
  kReset,   // RST: SO_LINGER with a zero timeout
};

// What the kernel knows of a TCP connection (tcp(7), TCP_INFO).
struct TcpFacts {
  Duration round_trip{};  // smoothed
  Duration round_trip_deviation{};
  Duration retransmit_timeout{};
  Duration since_received{};  // since data came last, at 1 ms or the kernel's tick
  Duration since_sent{};
  uint32_t congestion_window = 0;  // in segments, as are the next three
  uint32_t unacknowledged = 0;
  uint32_t lost = 0;
  uint32_t retransmitted = 0;  // since it was opened
  uint32_t segment_bytes = 0;  // the most one takes to the peer
};

class StreamPort {
 public:
  virtual ~StreamPort() = default;

  // Never fails at once: on_connected tells.
  virtual StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) = 0;
  // Takes the stream over; nothing is received until receive().
  virtual StreamId adopt(LooseStream stream, StreamEvents& events) = 0;
  // The same where the peer is to be that host.
  virtual StreamId adopt_from(LooseStream stream, const std::string& /*host*/, StreamEvents& events) {
    return adopt(std::move(stream), events);
  }
  // What a peer is sent, before the end, that speaks in the clear to a layer that waits for a handshake. The text lives
  // as long as the port.
  virtual void answer_in_the_clear(std::string_view /*text*/) {}
  // What is adopted is open at once. Otherwise on_connected tells, after a handshake that the port does by itself and
  // that only its owner bounds in time; what is sent before then waits.
  virtual bool adopts_open() const { return true; }
  // Gives the stream away once its queued output is out. Nothing more is received: what had been already and was
  // delivered to nobody, as the early bytes of a stream that was adopted, goes with it. Of a layer whose streams have a
  // state that cannot travel it asserts: they are handed to another loop before it adopts them.
  virtual void detach(StreamId stream) = 0;

  // Receives until paused. Bytes in flight when a pause is asked are kept (bounded by what the kernel had completed)
  // and delivered after the resume.
  virtual void receive(StreamId stream, bool on) = 0;
  // Queues output. It leaves when the current call up returns, at the latest when wait() is next entered. Returns how
  // many bytes the queue now holds in memory, those of the ports below included: what is queued or, where file ranges
  // are between, held_bytes().
  virtual size_t send(StreamId stream, Buffer&& bytes) = 0;
  virtual size_t send_copy(StreamId stream, std::string_view bytes) = 0;
  // Reports on_sent after each progress from now on until it has reported 0.
  virtual void report_sent(StreamId stream) = 0;
  // Queues part of a file, in order with send(); where the kernel can it never passes through user space (sendfile(2)).
  // A file that ends before the range, or cannot be read, is on_send_failed (EIO, or what reading failed with).
  virtual void send_file(StreamId stream, FileRange range) = 0;
  // From now on what `from` receives goes to the output of `to` inside the kernel (splice(2)), a bounded amount at a
  // time: a `to` that does not drain stops the reading of `from`. Ended by receive(from, false), after which bytes in
  // between are still moved on. on_receive_end(from) comes when all before the end was taken in by `to`. Both are this
  // port's. False: it cannot, or not now (no pipe left, output queued on `to`); nothing has happened then.
  virtual bool forward(StreamId from, StreamId to) = 0;
  // What forward() has moved out of `from`.
  virtual uint64_t forwarded_bytes(StreamId from) const = 0;
  // All that waits to be sent, file ranges included, of what was given to this port: what a layer adds is not in it, so
  // that what was given less what is queued never shrinks. 0 only when all is out, the layer's too.
  virtual size_t queued_bytes(StreamId stream) const = 0;
  // The memory that takes: Buffer::held_bytes(), or whole blocks where file ranges are between, and little for those.
  virtual size_t held_bytes(StreamId stream) const = 0;
  // What the network brought less what was delivered: of a layer half a record, and what its records add. The sum of
  // this and of what was delivered never shrinks.
  virtual uint64_t withheld_bytes(StreamId /*stream*/) const { return 0; }
  // The last of it is half a record, whose rest is the peer's to send.
  virtual bool waits_for_rest(StreamId /*stream*/) const { return false; }
  // The memory of what has arrived and waits to be delivered, whole blocks but for the last one's room.
  virtual size_t held_input_bytes(StreamId /*stream*/) const { return 0; }
  // What the kernel took and the peer's has not acknowledged (SIOCOUTQ, tcp(7)); 0 for a dead id. Costs a system call.
  virtual uint64_t unsent_bytes(StreamId stream) const = 0;
  // Sends FIN once all queued output is out, a layer's own end mark before it; later sends are dropped.
  virtual void shutdown_send(StreamId stream) = 0;
  virtual void close(StreamId stream, CloseHow how = CloseHow::kNormal) = 0;

  virtual Result<SocketAddress> local_address(StreamId stream) const = 0;
  virtual Result<SocketAddress> peer_address(StreamId stream) const = 0;
  virtual Result<void> set_option(StreamId stream, SocketOption option, int value) = 0;
  // EBADF for a dead id, ENOTSUP where there is no TCP. Costs a system call.
  virtual Result<TcpFacts> tcp_facts(StreamId /*stream*/) const { return fail(ENOTSUP); }
  // EBADF for a dead id, ENOTSUP where there is no layer.
  virtual Result<LayerFacts> layer_facts(StreamId /*stream*/) const { return fail(ENOTSUP); }
  // The category of what streams fail with that is neither an errno nor a Trouble; its values are below 0x4000.
  virtual const std::error_category& errors() const { return trouble_category(); }
};

class Engine;

// Makes the ports of a layer that stands over engines': one for each server or client and loop. Any thread, several at
// once.
class StreamLayer {
 public:
  virtual ~StreamLayer() = default;
  // On the engine's thread. The port is destroyed there too, perhaps inside the on_closed of its last stream; or, when
  // the engine has shut or is gone, on any.
  virtual std::unique_ptr<StreamPort> over(Engine& engine) const noexcept = 0;
  // Any thread.
  virtual LayerStats stats() const { return {}; }
};

}  // namespace peal
