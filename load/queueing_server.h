// SPDX-License-Identifier: BSD-3-Clause
// A server for tests. It serves one connection until the client closes it, and only then accepts the next one. Until
// then, all other connections wait in its backlog. It makes blocking calls on a thread of its own. Create and destroy
// it on the test's thread. Destroy it only when all clients have disconnected, because the destructor waits for the end
// of the last connection.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <peal/engine/listening_socket.h>

namespace peal::load {

class QueueingServer {
 public:
  // A function that makes the server's answers. Its argument is the bytes that one recv() has returned, and its result
  // is the answer. If the result is empty, the server sends nothing.
  using AnswerOf = std::function<std::string(std::string_view bytes)>;

  static std::string echo(std::string_view bytes) { return std::string(bytes); }

  explicit QueueingServer(AnswerOf answer = echo, unsigned backlog = 4096)
      : answer_(std::move(answer)),
        listener_(open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(),
                                        ListenOptions{.backlog = static_cast<int>(backlog)})
                      .value()),
        address_(listening_address(listener_.get()).value()),
        thread_([this] { serve(); }) {}
  ~QueueingServer() { ::shutdown(listener_.get(), SHUT_RDWR); }  // makes accept4() fail, which ends the thread
  QueueingServer(const QueueingServer&) = delete;
  QueueingServer& operator=(const QueueingServer&) = delete;

  const SocketAddress& address() const { return address_; }

 private:
  void serve() {
    ::fcntl(listener_.get(), F_SETFL, 0);  // makes accept4() block
    for (;;) {
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      serve_to_its_end(client.get());
    }
  }
  void serve_to_its_end(int client) {
    std::array<char, 65536> bytes;
    for (;;) {
      const ssize_t size = ::recv(client, bytes.data(), bytes.size(), 0);
      if (size <= 0) return;
      const std::string back = answer_({bytes.data(), static_cast<size_t>(size)});
      if (!back.empty() && ::send(client, back.data(), back.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  const AnswerOf answer_;
  const Fd listener_;
  const SocketAddress address_;
  std::jthread thread_;  // must be the last member, so that it is joined before the others are destroyed
};

}  // namespace peal::load
