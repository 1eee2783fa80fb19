// SPDX-License-Identifier: BSD-3-Clause
// HttpTest: an HttpServer on a loop of any engine, and raw peers that speak to it byte by byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/http/server/http_server.h>
#include <tests/support/net_rig.h>
#include <tests/support/program.h>

namespace peal::test {

// Reads from `peer` until its connection ends or nothing arrives for 30 s (kProgramPatience). Unlike NetTest::ends(),
// this function needs no loop, so use it in tests whose server does not run on the loop of a NetTest.
inline void read_to_end(RawPeer& peer) {
  while (peer.pump() && readable(peer.fd())) continue;
}

// Sends one request to `server` and returns everything that the server answers. The server may run on any loop.
// `request` has the form "GET /path". `fields` are header lines, each with "\r\n" at its end.
inline std::string http_answer(const SocketAddress& server, std::string_view request, std::string_view fields = {}) {
  RawPeer peer = RawPeer::connected(server);
  peer.send(fmt::format("{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{}\r\n", request, fields));
  read_to_end(peer);
  return peer.received();
}

// Returns `text` with the value of each well-formed Date field replaced by "now".
inline std::string undated(std::string_view text) {
  constexpr std::string_view kName = "Date: ";
  std::string plain(text);
  for (size_t at = plain.find(kName); at != std::string::npos; at = plain.find(kName, at + 1)) {
    const size_t end = plain.find("\r\n", at);
    if (end == at + kName.size() + 29 && plain.substr(end - 4, 4) == " GMT")
      plain.replace(at + kName.size(), 29, "now");
  }
  return plain;
}

// Returns how often `what` occurs in `text`.
inline size_t count_of(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

class HttpTest : public NetTest {
 protected:
  void TearDown() override {
    // Destroys the handles of unanswered requests, because they keep the loop's mailbox alive. The mailbox owns an fd,
    // and NetTest::TearDown() checks that no fd is left open. The handles are destroyed on the loop's thread, because
    // only that thread uses `unanswered`.
    if (!unanswered.empty()) ask([this] { unanswered.clear(); });
    server_.reset();
    NetTest::TearDown();
  }
  HttpServer& serve(Router router, const HttpServerOptions& options = {}) {
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), options);
    address_ = server_->listen("127.0.0.1:0").value();
    return *server_;
  }
  // Makes a server with one route: `handler` answers GET requests for `pattern`.
  HttpServer& serve_get(std::string_view pattern, HttpHandler handler, const HttpServerOptions& options = {}) {
    Router router;
    router.get(pattern, std::move(handler));
    return serve(std::move(router), options);
  }
  // Returns a handler that sends no answer. It stores a handle of each request in `unanswered`, so that the test can
  // answer later.
  HttpHandler left_unanswered() {
    return [this](HttpExchange& exchange) { unanswered.push_back(exchange.handle()); };
  }
  std::vector<HttpExchangeHandle> unanswered;  // used on the loop's thread only; released when the test ends
  HttpServer& server() { return *server_; }
  void end_server() { server_.reset(); }
  const SocketAddress& address() const { return address_; }
  // Returns a raw peer that is connected to the server. `receive_buffer_bytes` limits the peer's receive buffer; with
  // 0, the kernel chooses the size.
  RawPeer peer(int receive_buffer_bytes = 0) { return RawPeer::connected(address_, receive_buffer_bytes); }
  // Returns a raw peer that is connected to the server and has sent `bytes`.
  RawPeer peer_sending(std::string_view bytes, int receive_buffer_bytes = 0) {
    RawPeer one = peer(receive_buffer_bytes);
    one.send(bytes);
    return one;
  }
  // Waits until the peer has received `what` at least `times` times.
  testing::AssertionResult hears(RawPeer& peer, std::string_view what, size_t times = 1) {
    auto heard = wait_until([&] {
      peer.pump();
      return count_of(peer.received(), what) >= times;
    });
    return heard ? heard : testing::AssertionFailure() << "received only: " << peer.received().substr(0, 2000);
  }
  // Waits until the server has ended the connection. Returns everything that the peer has received, with each date
  // replaced by "now".
  std::string all_of(RawPeer& peer) {
    EXPECT_TRUE(ends(peer)) << peer.received();
    return undated(peer.received());
  }
  // Sends `request` and returns everything that the server answers. The function waits until the server closes the
  // connection. `request` must therefore make the server close the connection, for example by "Connection: close".
  std::string answer_to(std::string_view request) {
    RawPeer one = peer_sending(request);
    return all_of(one);
  }
  // Sends a request without a body and returns everything that the server answers. `fields` are header lines, each with
  // "\r\n" at its end.
  std::string answer_to(std::string_view method, std::string_view target, std::string_view fields = {}) {
    return answer_to(fmt::format("{} {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}\r\n", method, target, fields));
  }
  // Sends a request. If the status of the answer is 200, returns the answer's body. Otherwise returns the status.
  std::string body_of(std::string_view method, std::string_view target) {
    const std::string answer = answer_to(method, target);
    if (!answer.starts_with("HTTP/1.1 200 ")) return answer.substr(9, 3);
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }

 private:
  std::unique_ptr<HttpServer> server_;
  SocketAddress address_;
};

}  // namespace peal::test
