// SPDX-License-Identifier: BSD-3-Clause
// EchoConnection: the echo service of one non-blocking connection. The owner of an EchoConnection calls it when the
// socket is ready. The EchoConnection then reads, parses frames, runs the work of each frame, and writes the answers.
// It does not read while an answer is unsent. Therefore a client that does not read cannot make the buffer grow. Frames
// that a client sent before its FIN are answered before the connection ends. Only one thread at a time may use an
// EchoConnection.
#pragma once

#include <models/common/echo/echo_bytes.h>
#include <models/common/model_options.h>
#include <models/common/statistics.h>
#include <peal/base/fd.h>

namespace peal::models {

// The next step for the owner of a connection: wait until the socket is readable (kRead), wait until it is writable
// (kWrite), or close the connection (kClose).
enum class Wants : uint8_t { kRead, kWrite, kClose };

class EchoConnection {
 public:
  // `options` and `tally` must outlive this object. The object adds requests and too large frames to the counts in
  // `tally`. The caller counts the beginning and the end of the connection.
  EchoConnection(Fd socket, const ModelOptions& options, Tally& tally);

  // Makes this object serve a new connection. Discards the bytes and the state of the previous connection, but keeps
  // the memory of its buffer for the new one.
  void begin(Fd socket);
  // Closes the socket. After that, begin() can give this object the socket of a new connection.
  void end() { socket_.reset(); }

  int fd() const { return socket_.get(); }
  // Reads once, does the work of all complete frames, sends the answer to these frames, and returns the next step. If
  // no frame is complete, there is no answer, and on_readable() sends nothing. Call on_readable() when the socket is
  // readable. Two options change what on_readable() does:
  // - read_until_empty: on_readable() reads repeatedly until EAGAIN. The reads stop earlier if the connection has
  //   ended, a frame is too large, or the answer has at least 64 KiB.
  // - write_order: with kWhenWritable, on_readable() does not send the answer, but returns kWrite. on_writable() sends
  //   the answer later.
  Wants on_readable();
  // Sends more of the answer, and returns the next step. Call on_writable() when the socket is writable.
  Wants on_writable() { return write(); }
  // True if a frame has arrived only in part, or if an answer is not sent completely.
  bool in_the_middle() const { return buffer_.in_frame() || buffer_.has_answer(); }
  size_t unsent_bytes() const { return buffer_.answer().size(); }
  // True if the last read returned bytes. In this case, the socket may have further unread bytes. An edge-triggered
  // epoll does not report these bytes again (epoll(7)). Therefore an owner with an edge-triggered epoll must call
  // on_readable() again, or register the socket again (EPOLL_CTL_MOD). Otherwise the bytes might stay unread.
  bool unread() const { return unread_; }
  // Returns the socket, which then belongs to the caller. Call release() only before the first read. Otherwise the
  // bytes that were read would be lost.
  [[nodiscard]] Fd release() { return std::move(socket_); }

 private:
  Wants write();

  Fd socket_;
  EchoBytes buffer_;
  const ModelOptions& options_;
  Tally& tally_;
  bool ending_ = false;  // no further reads: the client has sent its FIN, or a frame was too large
  bool unread_ = false;
};

}  // namespace peal::models
