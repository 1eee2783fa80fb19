// SPDX-License-Identifier: BSD-3-Clause
// EchoConnection: the service of one non-blocking connection, told when its socket is ready. It reads, takes whole
// frames, works, and writes the answers: "W" in one context. While an answer is unsent it does not read, so nobody who
// does not read makes it grow. What its client sent before a FIN is answered before it ends.
// Belongs to one thread at a time.
#pragma once

#include <models/common/echo/echo_bytes.h>
#include <models/common/model_options.h>
#include <models/common/statistics.h>
#include <peal/base/fd.h>

namespace peal::models {

// What is to be waited for next.
enum class Wants : uint8_t { kRead, kWrite, kClose };

class EchoConnection {
 public:
  // `options` and `tally` outlive it. It counts requests, and frames too large; that it began and ended, its owner.
  EchoConnection(Fd socket, const ModelOptions& options, Tally& tally);

  // Serves another socket from now on, whatever became of the last one, in the same memory.
  void begin(Fd socket);
  // Closes the socket, and is good for begin().
  void end() { socket_.reset(); }

  int fd() const { return socket_.get(); }
  // The socket can be read: reads once, or until nothing is left (read_until_empty), and answers.
  Wants on_readable();
  // The socket can be written.
  Wants on_writable() { return write(); }
  // It waits for its client in the middle of something: of a frame, or of an answer.
  bool in_the_middle() const { return buffer_.in_frame() || buffer_.has_answer(); }
  size_t unsent_bytes() const { return buffer_.answer().size(); }
  // It wants to read, and has not seen that nothing is left: there may be no edge to come (epoll(7)).
  bool unread() const { return unread_; }
  // Gives the socket away, before anything was read from it.
  [[nodiscard]] Fd release() { return std::move(socket_); }

 private:
  Wants write();

  Fd socket_;
  EchoBytes buffer_;
  const ModelOptions& options_;
  Tally& tally_;
  bool ending_ = false;  // no more will be read: the client has ended, or sent what cannot be answered
  bool unread_ = false;
};

}  // namespace peal::models
