// SPDX-License-Identifier: BSD-3-Clause
// StreamPort: sends and receives the bytes of streams. It is the stream half of an Engine, or of a layer over an engine
// such as TLS. A Connection and a load generator's session use a port without knowing which of both it is.
//
// The rules of Engine apply: no callback is called inside a call of the owner, ids are checked, and each stream has one
// last completion. A port is used on its loop's thread. Ids of streams are valid only for the port that returned them.
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

// EngineId: names a stream of one port, or a listener or watch of one engine. A default-constructed id names nothing.
template <class Tag>
struct EngineId {
  uint32_t slot = 0;
  uint32_t generation = 0;  // Counts the uses of a slot; 0 is never given out.
  explicit operator bool() const { return generation != 0; }
  // Compares both members as one 64-bit word, which is faster. Every send() compares ids.
  bool operator==(const EngineId& other) const {
    return std::bit_cast<uint64_t>(*this) == std::bit_cast<uint64_t>(other);
  }
};
using StreamId = EngineId<struct StreamTag>;

// LooseStream: a connected stream that belongs to no engine. on_accepted() and on_detached() deliver a LooseStream, and
// adopt() takes it. A LooseStream may move to another thread; destroying it closes the connection. Input that its
// former engine had read from the kernel and not delivered moves with it.
class LooseStream {
 public:
  // A connection that has no fd, because its engine works without fds. Destroying it closes the connection.
  class Foreign {
   public:
    virtual ~Foreign() = default;
  };

  explicit LooseStream(Fd fd, Buffer early = {}) : fd_(std::move(fd)), early_(std::move(early)) {}
  explicit LooseStream(std::unique_ptr<Foreign> foreign, Buffer early = {})
      : foreign_(std::move(foreign)), early_(std::move(early)) {}

  // Moves the fd out of the stream. The result is empty if the stream's engine works without fds.
  Fd take_fd() && { return std::move(fd_); }

  // Moves the connection of an engine without fds out of the stream. Returns null if the stream has an fd.
  std::unique_ptr<Foreign> take_foreign() { return std::move(foreign_); }

  // Returns the input that must be delivered before anything that is read from the fd.
  Buffer& early() { return early_; }

 private:
  Fd fd_;
  std::unique_ptr<Foreign> foreign_;
  Buffer early_;
};

// Part of an open file: `bytes` bytes, starting at `offset`. The file is closed when the last FileRange or other holder
// of `file` is destroyed. An engine never moves the fd's file position.
struct FileRange {
  std::shared_ptr<const Fd> file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Implemented by the owner of a stream. The object must live until on_closed() or on_detached() is called.
class StreamEvents {
 public:
  // Reports that connect() has succeeded, or failed with `error`. After a failure the owner must still close the
  // stream. If the port's adopts_open() is false, adopted streams get this call, too.
  virtual void on_connected(std::error_code error) = 0;

  // Delivers bytes that arrived. The callee takes them by moving or consuming; bytes left in `bytes` on return are
  // dropped.
  virtual void on_received(Buffer& bytes) = 0;

  // Reports that nothing more will be received. `error` is empty if the peer has sent its FIN; the owner may still send
  // then.
  virtual void on_receive_end(std::error_code error) = 0;

  // Reports that bytes have arrived which a layer cannot deliver yet, because they are an incomplete record. This call
  // may come before on_connected().
  virtual void on_withheld() {}

  // Reports that output has failed (EPIPE, ECONNRESET, ...). Queued output is dropped and later sends do nothing. Input
  // that the peer sent before the failure is still delivered.
  virtual void on_send_failed(std::error_code error) = 0;

  // Reports, while receiving is off, that the connection has failed, mostly by the peer's RST. If `error` is set, no
  // input is left to receive, and on_receive_end() will report the same error after receiving is switched on. If
  // `error` is empty, there is still input to receive. If receiving is switched on and off again, the report is
  // repeated. Exceptions:
  // - If output is queued, on_send_failed() is called instead.
  // - The poll and select engines do not notice a failure that follows a FIN.
  // - The select engine also does not notice a failure while unread data is waiting.
  virtual void on_gone(std::error_code /*error*/) {}

  // Reports that queued output was sent. Called only after the owner has called report_sent(). `left_bytes` is the
  // number of bytes that are still in the engine's queue.
  virtual void on_sent(size_t left_bytes) = 0;

  // Reports that the engine was shut and that `bytes` bytes of the queued output will never be sent. on_closed()
  // follows.
  virtual void on_output_lost(size_t /*bytes*/) {}

  // Reports that the stream is closed, after close(). This is the last callback of the stream. The engine no longer
  // holds a block, an fd or a pointer of the stream.
  virtual void on_closed() = 0;

  // Hands the stream to the callee, after detach(). This is the last callback of the stream in this engine.
  virtual void on_detached(LooseStream stream) = 0;

 protected:
  ~StreamEvents() = default;
};

struct SocketOptions {
  bool no_delay = true;          // TCP_NODELAY. peal joins what a callback sends, so Nagle would only add delay.
  bool keep_alive = false;       // SO_KEEPALIVE. The timeouts of connections find dead peers sooner.
  int send_buffer_bytes = 0;     // SO_SNDBUF. 0 leaves the kernel's auto-tuning on.
  int receive_buffer_bytes = 0;  // SO_RCVBUF. 0 leaves the kernel's auto-tuning on.
};

struct ConnectOptions {
  SocketOptions socket = {};
  // Address to bind(2) before connecting. The default lets the kernel choose.
  SocketAddress source = {};
  // Name of the host that a layer must reach, for example "example.org"; connect() copies it. If the name is empty, the
  // layer accepts any host that has the address.
  std::string_view host = {};
};

// Options of a socket that is open already.
//
// kReceiveBuffer should only make the buffer larger. If it makes the buffer smaller, the kernel drops packets that lie
// beyond the smaller window (RFC 9293, section 3.8.6: a receiver should not shrink the window). Seen on Linux 6.18: the
// output of this end may then stop until this end reads. To have a small buffer, set it in SocketOptions, before the
// connection exists.
enum class SocketOption : uint8_t { kNoDelay, kKeepAlive, kSendBuffer, kReceiveBuffer };

// Ways in which close() ends a connection.
enum class CloseHow : uint8_t {
  kNormal,  // By close(2). Output queued in the engine is dropped; the kernel still sends what it has taken.
  kReset,   // By an RST, which SO_LINGER with a zero timeout causes.
};

// Facts that the kernel keeps about a TCP connection (tcp(7), TCP_INFO).
struct TcpFacts {
  Duration round_trip{};  // The smoothed round-trip time.
  Duration round_trip_deviation{};
  Duration retransmit_timeout{};
  Duration since_received{};  // Time since data last came, as precise as a millisecond or the kernel's tick.
  Duration since_sent{};
  uint32_t congestion_window = 0;  // In segments, as are the three counters below.
  uint32_t unacknowledged = 0;
  uint32_t lost = 0;
  uint32_t retransmitted = 0;  // Since the connection was opened.
  uint32_t segment_bytes = 0;  // The largest number of payload bytes of a segment to the peer.
};

class StreamPort {
 public:
  virtual ~StreamPort() = default;

  // Begins to connect. connect() itself never fails: on_connected() reports the outcome.
  virtual StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) = 0;

  // Takes over the stream. Nothing is received before receive() is called.
  virtual StreamId adopt(LooseStream stream, StreamEvents& events) = 0;

  // Adopts the stream as adopt() does, and says that its peer should be `host`. A layer that checks its peer's name
  // expects that name.
  virtual StreamId adopt_from(LooseStream stream, const std::string& /*host*/, StreamEvents& events) {
    return adopt(std::move(stream), events);
  }

  // Sets the text that a layer sends, unencrypted, to a peer that does not begin with a handshake; the stream then
  // ends. The text must outlive the port. A port that is no layer ignores the text.
  virtual void answer_in_the_clear(std::string_view /*text*/) {}

  // Returns whether an adopted stream is open at once. If not, the port first does a handshake and reports its outcome
  // by on_connected(). Output sent before then is queued. The port sets no time limit for the handshake, so the owner
  // of the stream must set one.
  virtual bool adopts_open() const { return true; }

  // Gives the stream away when its queued output has been sent; on_detached() follows. No input is delivered after this
  // call. Input that was read and not delivered moves with the LooseStream. Asserts if the port's streams have a state
  // that cannot move, as TLS streams have. If such a stream is to run on another loop, it must go there before it is
  // adopted.
  virtual void detach(StreamId stream) = 0;

  // Switches receiving on or off. When receiving is switched off, a receive operation that the kernel has completed may
  // already have brought input. Such input is kept and delivered after receiving is switched on.
  virtual void receive(StreamId stream, bool on) = 0;

  // send() queues the blocks of a buffer as output, and send_copy() queues a copy of `bytes`. The output is sent when
  // the current callback returns, or at the latest when wait() is next entered. Both return the memory in bytes that
  // the queue now takes, including queues of ports below this one. The result is the number of queued bytes, or
  // held_bytes() if file ranges are queued.
  virtual size_t send(StreamId stream, Buffer&& bytes) = 0;
  virtual size_t send_copy(StreamId stream, std::string_view bytes) = 0;

  // From now on, calls on_sent() each time that some queued output was sent. This ends when on_sent() has been called
  // with 0.
  virtual void report_sent(StreamId stream) = 0;

  // Queues a part of a file. It is sent after all output that was queued before it. If the kernel can, the bytes never
  // pass through user space (sendfile(2)). If the file ends before the range does or cannot be read, on_send_failed()
  // is called with EIO or with the error of the read.
  virtual void send_file(StreamId stream, FileRange range) = 0;

  // Forwards a stream: from now on, moves everything that `from` receives to the output of `to` inside the kernel
  // (splice(2)). Both must be streams of this port.
  // - Only a limited amount is moved at a time. While `to` takes no more, `from` is not read.
  // - receive(from, false) ends the forwarding. Bytes that were already taken from `from` are still sent.
  // - on_receive_end() of `from` is called when all input before the end was given to `to`.
  // Returns false if forwarding is not possible now or at all: for example, because no pipe is left or `to` has queued
  // output. Nothing has changed then.
  virtual bool forward(StreamId from, StreamId to) = 0;

  // Returns how many bytes forward() has taken from `from`.
  virtual uint64_t forwarded_bytes(StreamId from) const = 0;

  // Returns how many of the bytes given to this port wait to be sent, file ranges included. Bytes that a layer adds are
  // not counted, so that "bytes given minus queued_bytes()" never shrinks. The result is 0 only when everything has
  // been sent, including the bytes that the layer has added.
  virtual size_t queued_bytes(StreamId stream) const = 0;

  // Returns the memory in bytes that the queued output takes: Buffer::held_bytes(). If file ranges are queued, whole
  // blocks are counted, plus a small constant for each range.
  virtual size_t held_bytes(StreamId stream) const = 0;

  // Returns how many bytes the network has brought and this port has not delivered. For a layer these are the bytes of
  // an incomplete record, and the headers and the like that its records add. The sum of the result and of all delivered
  // bytes never shrinks.
  virtual uint64_t withheld_bytes(StreamId /*stream*/) const { return 0; }

  // Returns whether the last bytes that withheld_bytes() counts are an incomplete record, whose rest the peer has yet
  // to send.
  virtual bool waits_for_rest(StreamId /*stream*/) const { return false; }

  // Returns the memory in bytes of input that has arrived and was not delivered. Whole blocks are counted, except for
  // the unused room of the last block.
  virtual size_t held_input_bytes(StreamId /*stream*/) const { return 0; }

  // Returns how many bytes the kernel has taken and the peer has not acknowledged (SIOCOUTQ, tcp(7)). Returns 0 if the
  // id is dead. Makes a system call.
  virtual uint64_t unsent_bytes(StreamId stream) const = 0;

  // Sends FIN when all queued output has been sent. A layer sends its own end mark before the FIN. Output that is
  // queued after this call is dropped.
  virtual void shutdown_send(StreamId stream) = 0;

  // Closes the connection. on_closed() is called later, inside the engine's wait() or shut().
  virtual void close(StreamId stream, CloseHow how = CloseHow::kNormal) = 0;

  // local_address(), peer_address() and set_option() fail with EBADF if the id is dead, or with the error of the system
  // call that they make.
  virtual Result<SocketAddress> local_address(StreamId stream) const = 0;
  virtual Result<SocketAddress> peer_address(StreamId stream) const = 0;
  virtual Result<void> set_option(StreamId stream, SocketOption option, int value) = 0;

  // Returns what the kernel knows of the connection. Fails with EBADF if the id is dead, and with ENOTSUP if the stream
  // is not TCP. Makes a system call.
  virtual Result<TcpFacts> tcp_facts(StreamId /*stream*/) const { return fail(ENOTSUP); }

  // Returns what the layer knows of the stream, such as the negotiated protocol. Errors:
  // - EBADF: the id is dead;
  // - ENOTSUP: this port is no layer;
  // - ENOTCONN: the handshake is not finished.
  virtual Result<LayerFacts> layer_facts(StreamId /*stream*/) const { return fail(ENOTSUP); }

  // Returns the error category of errors that only this port has, which are neither an errno nor a Trouble. Their
  // values are below 0x4000.
  virtual const std::error_category& errors() const { return trouble_category(); }
};

class Engine;

// StreamLayer: makes the ports of a layer such as TLS. Each server or client has one port on each of its loops. All
// members may be called on any thread, and on several threads at once, except where a comment says otherwise.
class StreamLayer {
 public:
  virtual ~StreamLayer() = default;

  // Makes a port over `engine`, on the engine's thread. The port is destroyed on that thread, too, perhaps inside the
  // on_closed() of its last stream. After the engine was shut or destroyed, any thread may destroy the port.
  virtual std::unique_ptr<StreamPort> over(Engine& engine) const noexcept = 0;

  // Returns counters that are summed over all ports of this layer.
  virtual LayerStats stats() const { return {}; }
};

}  // namespace peal
