// SPDX-License-Identifier: BSD-3-Clause
// HttpScript: a server for tests of HTTP clients, which says, byte for byte, what the test tells it to, and writes down
// what it was asked. It takes requests apart no further than to see where each ends. On its loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <peal/net/server.h>

namespace peal::test {

// "HTTP/1.1 200 OK" with a Content-Length and this body.
std::string http_ok(std::string_view body);

class HttpScript {
 public:
  struct Request {
    size_t connection = 0;  // 1: the first one ever
    size_t number = 0;      // on its connection, from 1
    std::string head;       // the request line, the fields and the empty line
    std::string body;       // as it was framed

    // "GET /path" of the request line.
    std::string what() const { return head.substr(0, head.find(" HTTP/")); }
    bool has(std::string_view line) const { return head.contains("\r\n" + std::string(line) + "\r\n"); }
  };
  using Answer = std::function<void(Connection&, const Request&)>;

  // Without an address: a free port of 127.0.0.1.
  explicit HttpScript(Loop& loop, Answer answer, const std::string& address = "127.0.0.1:0",
                      const ServerOptions& options = {});

  // "http://127.0.0.1:port" and this.
  std::string url(std::string_view target = "/") const;
  // The same with "https://": of a server over a layer.
  std::string secure_url(std::string_view target = "/") const { return "https" + url(target).substr(4); }
  const SocketAddress& address() const { return address_; }
  // Instead of taking requests apart: whatever comes, nothing of it kept.
  std::function<void(Connection&, Buffer&)> on_bytes;
  // The heads that came, though their bodies may not have.
  std::function<void(Connection&, std::string_view head)> on_head;

  const std::vector<Request>& requests() const { return requests_; }
  // What each request was, in order.
  std::vector<std::string> asked() const;
  size_t opened() const { return opened_; }
  size_t open() const { return opened_ - closed_; }
  // Those that are open.
  void each(const std::function<void(Connection&)>& task);
  Server& server() { return server_; }

 private:
  struct Conversation {
    size_t connection = 0;
    size_t requests = 0;
    std::string bytes;
    bool head_told = false;
  };

  ConnectionCallbacks callbacks();
  void take(Connection& connection, Buffer& input);

  Answer answer_;
  std::vector<Request> requests_;
  size_t opened_ = 0;
  size_t closed_ = 0;
  std::map<size_t, ConnectionHandle> handles_;
  Server server_;
  SocketAddress address_;
};

}  // namespace peal::test
