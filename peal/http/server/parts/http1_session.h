// SPDX-License-Identifier: BSD-3-Clause
// Http1Session: a connection that speaks HTTP/1.1 or 1.0. While the connection is idle, this object is all that HTTP
// stores for it.
//
//   idle ──first byte──► head ──► handler ──► (body) ──► answer complete ──► idle, or the next request of the input
//
// The session handles one exchange at a time. Input that arrives too early stays in the connection: a pipelined
// request, or a body that no handler wants yet. The connection is then not read, and the client must wait.
//
// A further request also waits while the output of the answers before it is above the high-water mark. A body that the
// handler wants is read in any case, because the client may read its answer only after it has sent the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <peal/base/memory/buffer.h>
#include <peal/http/server/parts/http1_carrier.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/http_server_session.h>
#include <peal/http/server/parts/http_shard.h>
#include <peal/http/server/upgrade_handler.h>
#include <peal/net/connection.h>

namespace peal::detail {

class Http1Session final : public HttpServerSession {
 public:
  Http1Session(HttpShard& shard, Connection& connection) : shard_(&shard), connection_(&connection) {}

  // Ends an exchange that is still in progress, without calling the handler's on_abandoned. That callback was called
  // earlier by closed(), unless the server itself is being destroyed.
  ~Http1Session() override;

  void received(Buffer& input) override;
  void writable() override;
  void peer_ended() override;
  void drain() override;
  void closed(CloseReason reason) override;
  HttpCarrier* carrier_of(uint64_t serial) override {
    return carrier_ != nullptr && carrier_->serial() == serial ? carrier_ : nullptr;
  }
  bool drains() const override { return draining_; }

  // Called when the time limit for `what` has passed.
  void timed_out(HttpWait what) override;

  // ---- Functions for the session's carrier.

  Connection& connection() const { return *connection_; }

  // True if the connection is open and still speaks HTTP.
  bool is_open() const { return connection_->is_open() && !upgrade_handler_; }

  // Returns the buffer into which the carrier writes output. The carrier must then call put_done().
  Buffer& output() { return shard_->output(*this); }

  bool above_high_water() const { return above_; }

  // True if the connection must be closed after the current answer, because the server drains or because
  // max_requests_per_connection is reached.
  bool must_close() const {
    const uint32_t most = shard_->core().options().max_requests_per_connection;
    return draining_ || (most != 0 && requests_ >= most);
  }

  // Sends the output that was written to output(), or keeps it to be sent with further output of the same callback.
  // Returns true while the output is below the high-water mark.
  bool put_done() {
    if (shard_->batches(*this) && output().size() < kMostBatchedBytes) return !above_;
    return send(output());
  }

  void send_file(FileRange range);

  // Continues after a change of the exchange: ends the exchange if its answer is complete, or reads further input if
  // the handler wants the body. See HttpCarrier::advance().
  void advance();

  // Gives the connection to `handler`. From now on the connection's callbacks call `handler`.
  void upgrade(std::unique_ptr<UpgradeHandler> handler);

 private:
  // Number of bytes up to which the answers of one callback are gathered. They are then sent before the next request is
  // read, so that a client that does not read its answers is noticed.
  static constexpr size_t kMostBatchedBytes = 64 * 1024;

  bool is_in_body() const { return carrier_ != nullptr && carrier_->head_read() && !carrier_->request_read(); }

  // True if the session can use further input now.
  bool takes_input() const;

  // step() handles the next part of the input by take_head(), which handles a head, or by take_body(), which handles a
  // piece of a body. All three return false if no further part can be handled now.
  bool step(Buffer& input);
  bool take_head(Buffer& input);
  bool take_body(Buffer& input);

  void start();

  // Answers an invalid or late request with an error, and closes the connection.
  void refuse(int status);

  // pause_input() stops reading from the connection, and resume_input() continues it. Input that was already read stays
  // queued.
  void pause_input();
  void resume_input();

  // Detaches the carrier from the session. The shard keeps the carrier for later requests, unless a coroutine still
  // uses it.
  void end_exchange() {
    Http1Carrier& carrier = *std::exchange(carrier_, nullptr);
    if (carrier.detach()) carrier.give_back();
  }

  void abandon(bool notify) {
    if (carrier_ != nullptr) std::exchange(carrier_, nullptr)->abandon(notify);
  }

  // Closes the connection after the output is sent. `last`: true if the client has said that it sends no further
  // request.
  void end(bool last = false);

  // Sends the bytes and empties the buffer. Returns true while the output is below the high-water mark.
  bool send(Buffer& bytes);

  // Sets the deadline for what the session waits for: a request, a part of the body, or the handler's answer. Closes an
  // idle connection whose client has sent FIN.
  void await_next();

  // Sets the handler's deadline (answer_timeout) if the answer has not begun, and removes the deadline if it has.
  void await_answer();
  void body_too_slow();

  // These small members come first because they fit into the padding at the end of the base class HttpWaiter.
  bool held_ : 1 = false;        // true if the connection is paused, with input queued
  bool above_ : 1 = false;       // true if the output is above the high-water mark, or a large file is being sent
  bool draining_ : 1 = false;    // true if the next answer is the last, since the server drains
  bool peer_ended_ : 1 = false;  // true if the client has sent FIN
  uint32_t requests_ = 0;
  HttpShard* shard_;
  Connection* connection_;
  Http1Carrier* carrier_ = nullptr;  // null while idle
  std::unique_ptr<UpgradeHandler> upgrade_handler_;
};
static_assert(sizeof(Http1Session) == 72);

}  // namespace peal::detail
