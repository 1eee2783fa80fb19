// SPDX-License-Identifier: BSD-3-Clause
// HttpScript: a server for tests of HTTP clients. It sends the bytes that the test gives it, and writes down the
// requests it gets. It parses a request only to find where the request ends. It is used on its loop's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <peal/net/server.h>

namespace peal::test {

// Returns an HTTP answer with status 200, a Content-Length and the body `body`.
std::string http_ok(std::string_view body);

class HttpScript {
 public:
  struct Request {
    size_t connection = 0;  // the first connection is 1
    size_t number = 0;      // position on its connection; the first request is 1
    std::string head;       // the request line, the fields and the empty line
    std::string body;       // with its framing, for example chunks

    // Returns the request line without its version: "GET /path".
    std::string what() const { return head.substr(0, head.find(" HTTP/")); }
    bool has(std::string_view line) const { return head.contains("\r\n" + std::string(line) + "\r\n"); }
  };
  using Answer = std::function<void(Connection&, const Request&)>;

  // Listens at `address`. The default is a free port of 127.0.0.1.
  explicit HttpScript(Loop& loop, Answer answer, const std::string& address = "127.0.0.1:0",
                      const ServerOptions& options = {});

  // Returns "http://127.0.0.1:port" followed by `target`.
  std::string url(std::string_view target = "/") const;
  // Returns "https://127.0.0.1:port" followed by `target`, for a server over TLS or another layer.
  std::string secure_url(std::string_view target = "/") const { return "https" + url(target).substr(4); }
  const SocketAddress& address() const { return address_; }
  // If this function is set, it gets all bytes that arrive. The server then parses no requests, so requests() gets
  // none. Bytes that the function leaves in the Buffer are dropped.
  std::function<void(Connection&, Buffer&)> on_bytes;
  // If this function is set, it gets each request's head as soon as the head is complete. The request's body may arrive
  // later.
  std::function<void(Connection&, std::string_view head)> on_head;

  const std::vector<Request>& requests() const { return requests_; }
  // Returns "METHOD /path" for each request, in the order of their arrival.
  std::vector<std::string> asked() const;
  size_t opened() const { return opened_; }
  size_t open() const { return opened_ - closed_; }
  // Calls `task` with each open connection.
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
