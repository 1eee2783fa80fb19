// SPDX-License-Identifier: BSD-3-Clause
// For tests of HTTP servers: one on a loop of any engine, and raw peers that speak to it byte by byte.
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

// For servers whose loop the test does not ask: reads until the connection ends, or nothing comes for too long.
inline void read_to_end(RawPeer& peer) {
  while (peer.pump() && readable(peer.fd())) continue;
}

// All that such a server answers to one request. `request`: "GET /path"; `fields`: whole lines.
inline std::string http_answer(const SocketAddress& server, std::string_view request, std::string_view fields = {}) {
  RawPeer peer = RawPeer::connected(server);
  peer.send(fmt::format("{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{}\r\n", request, fields));
  read_to_end(peer);
  return peer.received();
}

// `text` with the value of each Date field, if it looks like one, replaced by "now".
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

// How often `what` stands in `text`.
inline size_t count_of(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

class HttpTest : public NetTest {
 protected:
  void TearDown() override {
    if (!unanswered.empty()) ask([this] { unanswered.clear(); });  // they keep the mailbox
    server_.reset();
    NetTest::TearDown();
  }
  HttpServer& serve(Router router, const HttpServerOptions& options = {}) {
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), options);
    address_ = server_->listen("127.0.0.1:0").value();
    return *server_;
  }
  // With this route alone.
  HttpServer& serve_get(std::string_view pattern, HttpHandler handler, const HttpServerOptions& options = {}) {
    Router router;
    router.get(pattern, std::move(handler));
    return serve(std::move(router), options);
  }
  // A handler whose exchanges the test answers later.
  HttpHandler left_unanswered() {
    return [this](HttpExchange& exchange) { unanswered.push_back(exchange.handle()); };
  }
  std::vector<HttpExchangeHandle> unanswered;  // on the loop's thread; let go when the test ends
  HttpServer& server() { return *server_; }
  void end_server() { server_.reset(); }
  const SocketAddress& address() const { return address_; }
  // A socket of the test's, connected to it. `receive_buffer_bytes` bounds what the kernel takes for it.
  RawPeer peer(int receive_buffer_bytes = 0) { return RawPeer::connected(address_, receive_buffer_bytes); }
  // One that has sent this.
  RawPeer peer_sending(std::string_view bytes, int receive_buffer_bytes = 0) {
    RawPeer one = peer(receive_buffer_bytes);
    one.send(bytes);
    return one;
  }
  // Waits until the peer has received `what` (so many times).
  testing::AssertionResult hears(RawPeer& peer, std::string_view what, size_t times = 1) {
    auto heard = wait_until([&] {
      peer.pump();
      return count_of(peer.received(), what) >= times;
    });
    return heard ? heard : testing::AssertionFailure() << "received only: " << peer.received().substr(0, 2000);
  }
  // Waits until the server has ended the connection, and returns all that came.
  std::string all_of(RawPeer& peer) {
    EXPECT_TRUE(ends(peer)) << peer.received();
    return undated(peer.received());
  }
  // What the server answers to `request` before it closes, which the request must bring about.
  std::string answer_to(std::string_view request) {
    RawPeer one = peer_sending(request);
    return all_of(one);
  }
  // The same of a request without a body. `fields`: whole lines.
  std::string answer_to(std::string_view method, std::string_view target, std::string_view fields = {}) {
    return answer_to(fmt::format("{} {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}\r\n", method, target, fields));
  }
  // What comes with 200; of any other answer its status.
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
