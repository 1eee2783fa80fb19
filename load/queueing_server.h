// SPDX-License-Identifier: BSD-3-Clause
// QueueingServer: for tests, a server that serves a connection to its end before it accepts the next; all others wait
// in its backlog. A thread of its own, in blocking calls; made and destroyed on the test's thread, destroyed when
// nobody is connected any more.
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
  // What is sent back for what one read brought; "": nothing.
  using AnswerOf = std::function<std::string(std::string_view bytes)>;

  static std::string echo(std::string_view bytes) { return std::string(bytes); }

  explicit QueueingServer(AnswerOf answer = echo, unsigned backlog = 4096)
      : answer_(std::move(answer)),
        listener_(open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(),
                                        ListenOptions{.backlog = static_cast<int>(backlog)})
                      .value()),
        address_(listening_address(listener_.get()).value()),
        thread_([this] { serve(); }) {}
  ~QueueingServer() { ::shutdown(listener_.get(), SHUT_RDWR); }  // accept ends
  QueueingServer(const QueueingServer&) = delete;
  QueueingServer& operator=(const QueueingServer&) = delete;

  const SocketAddress& address() const { return address_; }

 private:
  void serve() {
    ::fcntl(listener_.get(), F_SETFL, 0);  // it blocks
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
  std::jthread thread_;  // joined first
};

}  // namespace peal::load
