// SPDX-License-Identifier: BSD-3-Clause
// TestProxy: a proxy for tests. It opens a tunnel on CONNECT, or sends the answer that the test has set. It is used on
// its loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/net/client.h>
#include <peal/net/pipe.h>
#include <peal/net/server.h>

namespace peal::test {

class TestProxy {
 public:
  explicit TestProxy(Loop& loop) : loop_(loop), server_(loop, callbacks()) {
    address_ = server_.listen("127.0.0.1:0").value();
  }
  std::string url(std::string_view user = {}) const { return "http://" + std::string(user) + address_.to_string(); }

  std::vector<std::string> heads;  // the heads of all requests so far
  // The answer to CONNECT after the proxy has connected.
  std::string granted = "HTTP/1.1 200 Connection established\r\n\r\n";
  std::string refused;  // if not empty, sent in answer to CONNECT instead of connecting
  bool closes = false;  // whether the proxy closes after `refused`
  std::string to;       // if not empty, the address that all tunnels lead to

 private:
  ConnectionCallbacks callbacks() {
    return {.on_message = [this](Connection& connection, Buffer& input) {
      const std::string_view bytes = input.view();
      if (!bytes.ends_with("\r\n\r\n")) return;
      heads.emplace_back(bytes);
      input.clear();
      connect(connection, heads.back());
    }};
  }
  void connect(Connection& client, const std::string& head) {
    if (!refused.empty()) {
      client.send(refused);
      if (closes) client.close();
      return;
    }
    client.pause();
    auto on_open = [this, handle = client.handle()](Connection& upstream) {
      handle.run([&](Connection& waiting) {
        waiting.send(granted);
        if (pipe(waiting, upstream)) {
          waiting.resume();
        } else {
          waiting.close();
        }
      });
    };
    upstreams_.push_back(std::make_unique<Client>(loop_, ConnectionCallbacks{.on_open = on_open}));
    const std::string target = head.substr(8, head.find(' ', 8) - 8);
    const Result<void> begun = upstreams_.back()->connect(to.empty() ? target : to);
    PEAL_ASSERT(begun, "a proxy is asked for {}", target);
  }

  Loop& loop_;
  std::vector<std::unique_ptr<Client>> upstreams_;
  Server server_;
  SocketAddress address_;
};

}  // namespace peal::test
