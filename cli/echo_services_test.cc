// SPDX-License-Identifier: BSD-3-Clause
// The framed echo service in both styles, spoken to by a plain socket.
#include <cli/echo_services.h>

#include <sys/socket.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <models/common/echo/echo_frame.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::cli {
namespace {

std::string frame_of(const std::string& body) {
  Buffer frame;
  append_echo_frame(frame, body);
  return frame.to_string();
}

// One client, blocking.
class Client {
 public:
  explicit Client(const SocketAddress& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(fd_.get(), address.data(), address.size()), 0);
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void fin() { ::shutdown(fd_.get(), SHUT_WR); }
  // So many bytes, or fewer when the server closes before.
  std::string receive(size_t bytes) {
    std::string text(bytes, '\0');
    size_t have = 0;
    while (have < bytes) {
      const ssize_t got = ::recv(fd_.get(), text.data() + have, bytes - have, 0);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    text.resize(have);
    return text;
  }

 private:
  const Fd fd_;
};

enum class Style : uint8_t { kCallbacks, kCoroutines };

class FramedEcho : public testing::TestWithParam<Style> {
 protected:
  FramedEcho() : group_(LoopGroup::start(1, {.engine = "epoll"}).value()) {
    if (GetParam() == Style::kCallbacks) {
      callbacks_ = std::make_unique<Server>(*group_, framed_echo());
    } else {
      tasks_ = std::make_unique<CoServer>(*group_, framed_echo_task);
    }
    address_ = (tasks_ ? tasks_->server() : *callbacks_).listen("127.0.0.1:0").value();
  }
  ~FramedEcho() override {
    group_->stop();
    group_->join();
  }

  std::unique_ptr<LoopGroup> group_;
  std::unique_ptr<Server> callbacks_;
  std::unique_ptr<CoServer> tasks_;
  SocketAddress address_;
};

TEST_P(FramedEcho, a_frame_in_two_pieces_cut_anywhere) {
  const std::string frame = frame_of("hello");
  for (size_t cut = 0; cut <= frame.size(); ++cut) {
    Client client(address_);
    client.send(frame.substr(0, cut));
    client.send(frame.substr(cut));
    EXPECT_EQ(client.receive(frame.size()), frame) << cut;
  }
}

TEST_P(FramedEcho, many_frames_at_once_come_back_in_order) {
  std::string all;
  for (size_t size = 0; size < 600; ++size) all += frame_of(std::string(size, static_cast<char>('a' + size % 26)));
  Client client(address_);
  client.send(all);
  EXPECT_EQ(client.receive(all.size()), all);
}

TEST_P(FramedEcho, the_smallest_and_the_largest_body) {
  Client client(address_);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{kEchoBodyMaxBytes}}) {
    const std::string frame = frame_of(std::string(size, 'x'));
    client.send(frame);
    EXPECT_EQ(client.receive(frame.size()), frame) << size;
  }
}

TEST_P(FramedEcho, one_byte_too_many_closes_the_connection) {
  const auto header = echo_header(kEchoBodyMaxBytes + 1);
  Client client(address_);
  client.send(frame_of("right"));
  EXPECT_EQ(client.receive(9), frame_of("right"));
  client.send({reinterpret_cast<const char*>(header.data()), header.size()});
  EXPECT_EQ(client.receive(1), "");
}

TEST_P(FramedEcho, a_client_that_leaves_in_the_middle_of_a_frame_disturbs_nobody) {
  Client stays(address_);
  {
    Client leaves(address_);
    leaves.send(frame_of("gone").substr(0, 6));
    leaves.fin();
    EXPECT_EQ(leaves.receive(1), "");
  }
  stays.send(frame_of("here"));
  EXPECT_EQ(stays.receive(8), frame_of("here"));
}

INSTANTIATE_TEST_SUITE_P(Styles, FramedEcho, testing::Values(Style::kCallbacks, Style::kCoroutines),
                         [](const auto& chosen) {
                           return chosen.param == Style::kCallbacks ? "callbacks" : "coroutines";
                         });

}  // namespace
}  // namespace peal::cli
