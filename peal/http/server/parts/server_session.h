// SPDX-License-Identifier: BSD-3-Clause
// HttpSession: a connection that speaks HTTP. It is the connection's context, belongs to its loop and, while idle, is
// all that HTTP keeps for it.
//
//   idle ──first byte──► head ──► handler ──► (body) ──► answer complete ──► idle, or the next request of the input
//
// One exchange at a time. Input that comes before its turn (a pipelined request, a body that nobody wants yet) is left
// with the connection, which is then not read: the client waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <peal/base/memory/buffer.h>
#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_shard.h>
#include <peal/http/server/parts/http_waits.h>
#include <peal/http/server/parts/route_tree.h>
#include <peal/http/server/upgrade_handler.h>
#include <peal/net/connection.h>

namespace peal::detail {

class HttpSession final : public HttpWaiter {
 public:
  HttpSession(HttpShard& shard, Connection& connection) : shard_(&shard), connection_(&connection) {}
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession() = default;
  // `delete` gives it back to its shard.
  static void operator delete(HttpSession* session, std::destroying_delete_t);

  // What the connection tells.
  void received(Buffer& input);
  void writable();
  void peer_ended();
  void drain();
  void closed(CloseReason reason);
  // The time ended that was given to `what`.
  void timed_out(HttpWait what);
  // The connection is gone, and nobody is to be told.
  void detach();

  // What its exchange tells.
  Connection& connection() const { return *connection_; }
  HttpShard& shard() const { return *shard_; }
  bool is_open() const { return connection_->is_open() && !upgrade_handler_; }
  HttpExchange* exchange() const { return exchange_; }
  // Where its output is composed; put_done() follows.
  Buffer& output() { return shard_->output(*this); }
  bool above_high_water() const { return above_; }
  bool must_close() const;
  // What was composed in the shard's output may leave. True while below the high-water mark.
  bool put_done();
  void send_file(FileRange range);
  // Something about the exchange has changed from outside: its answer is complete, its body is wanted, ...
  void settle();
  // Calls code of the user's, and answers for its exceptions.
  template <class Function>
  static void call(HttpExchange& exchange, Function&& function) {
    ++exchange.calls_;
    try {
      function();
    } catch (...) {
      threw(exchange);
    }
    --exchange.calls_;
  }
  // The server answers in the place of whoever was to.
  void answer_instead(HttpExchange& exchange, int status);
  // Inside a handler.
  static void threw(HttpExchange& exchange);
  void upgrade(std::unique_ptr<UpgradeHandler> handler);

 private:
  bool step(Buffer& input);
  bool take_head(HttpExchange& exchange, Buffer& input);
  bool take_body(HttpExchange& exchange, Buffer& input);
  void start(HttpExchange& exchange);
  void dispatch(HttpExchange& exchange);
  void answer(HttpExchange& exchange, RouteTree::Route& route);
  void refuse(HttpExchange& exchange, int status);
  bool hold();
  void unhold();
  void release_exchange();
  void abandon(bool tell);
  void end(bool last = false);
  bool send(Buffer& bytes);
  void follow();
  void await_answer();
  void body_too_slow(HttpExchange& exchange);

  HttpShard* shard_;
  Connection* connection_;
  HttpExchange* exchange_ = nullptr;  // none while idle
  std::unique_ptr<UpgradeHandler> upgrade_handler_;
  uint32_t requests_ = 0;
  bool held_ : 1 = false;        // input waits for its turn
  bool above_ : 1 = false;       // the high-water mark, or a file is on its way
  bool draining_ : 1 = false;    // the next answer is the last
  bool peer_ended_ : 1 = false;  // FIN
};

}  // namespace peal::detail
