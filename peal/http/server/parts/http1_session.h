// SPDX-License-Identifier: BSD-3-Clause
// Http1Session: a connection that speaks HTTP/1.1, or 1.0. While idle it is all that HTTP keeps for the connection.
//
//   idle ──first byte──► head ──► handler ──► (body) ──► answer complete ──► idle, or the next request of the input
//
// One exchange at a time. Input that comes before its turn (a pipelined request, a body that nobody wants yet) is left
// with the connection, which is then not read: the client waits. So does a further request while the answers before it
// are above the high-water mark, but never a body that the handler wants: the client may read only behind that.
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
  // Ends the exchange that is still open, and reports nothing to its handler: closed() does that.
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
  // The time ended that was given to `what`.
  void timed_out(HttpWait what) override;

  // What its carrier tells.
  Connection& connection() const { return *connection_; }
  bool is_open() const { return connection_->is_open() && !upgrade_handler_; }
  // Where its output is composed; put_done() follows.
  Buffer& output() { return shard_->output(*this); }
  bool above_high_water() const { return above_; }
  bool must_close() const {
    const uint32_t most = shard_->core().options().max_requests_per_connection;
    return draining_ || (most != 0 && requests_ >= most);
  }
  // What was composed in the shard's output may leave. True while below the high-water mark.
  bool put_done() {
    if (shard_->batches(*this) && output().size() < kMostBatchedBytes) return !above_;
    return send(output());
  }
  void send_file(FileRange range);
  // Something about the exchange has changed from outside: its answer is complete, its body is wanted, ...
  void advance();
  void upgrade(std::unique_ptr<UpgradeHandler> handler);

 private:
  // Answers gathered beyond it leave before the next request is looked at: so that a client that does not read them is
  // noticed.
  static constexpr size_t kMostBatchedBytes = 64 * 1024;

  bool is_in_body() const { return carrier_ != nullptr && carrier_->head_read() && !carrier_->request_read(); }
  bool takes_input() const;
  bool step(Buffer& input);
  bool take_head(Buffer& input);
  bool take_body(Buffer& input);
  void start();
  void refuse(int status);
  void pause_input();
  void resume_input();
  void end_exchange() {
    Http1Carrier& carrier = *std::exchange(carrier_, nullptr);
    if (carrier.detach()) carrier.give_back();
  }
  void abandon(bool notify) {
    if (carrier_ != nullptr) std::exchange(carrier_, nullptr)->abandon(notify);
  }
  void end(bool last = false);
  bool send(Buffer& bytes);
  void await_next();
  void await_answer();
  void body_too_slow();

  // The first lie in what is left of HttpWaiter's last word.
  bool held_ : 1 = false;        // input waits for its turn
  bool above_ : 1 = false;       // the high-water mark, or a file is on its way
  bool draining_ : 1 = false;    // the next answer is the last
  bool peer_ended_ : 1 = false;  // FIN
  uint32_t requests_ = 0;
  HttpShard* shard_;
  Connection* connection_;
  Http1Carrier* carrier_ = nullptr;  // none while idle
  std::unique_ptr<UpgradeHandler> upgrade_handler_;
};
static_assert(sizeof(Http1Session) == 72);

}  // namespace peal::detail
