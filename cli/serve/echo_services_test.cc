// SPDX-License-Identifier: BSD-3-Clause
// Tests the framed echo service, written with callbacks and as a coroutine. The clients are plain sockets.
#include <cli/serve/echo_services.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <peal/loop/loop_group.h>
#include <peal/net/server.h>
#include <tests/support/echo_crowd.h>

namespace peal::cli {
namespace {

constexpr size_t kLongestBody = 1024 * 1024;

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
  testing::AssertionResult answered(EchoPeer& client) {
    return crowd_.until([&] { return client.answered(); });
  }

  std::unique_ptr<LoopGroup> group_;
  std::unique_ptr<Server> callbacks_;
  std::unique_ptr<CoServer> tasks_;
  SocketAddress address_;
  EchoCrowd crowd_;
};

TEST_P(FramedEcho, a_frame_in_two_pieces_cut_anywhere) {
  const std::string frame = frame_of("hello");
  for (size_t cut = 0; cut <= frame.size(); ++cut) {
    EchoPeer& client = crowd_.join(address_);
    client.say(frame.substr(0, cut));
    ASSERT_TRUE(crowd_.until([&] { return client.unsent_bytes() == 0; }));
    client.say(frame.substr(cut));
    client.expect(frame);
    EXPECT_TRUE(answered(client)) << cut;
  }
}

TEST_P(FramedEcho, many_frames_at_once_come_back_in_order) {
  std::string all;
  for (size_t size = 0; size < 600; ++size) all += frame_of(std::string(size, static_cast<char>('a' + size % 26)));
  EchoPeer& client = crowd_.join(address_);
  client.ask(all);
  EXPECT_TRUE(answered(client));
}

TEST_P(FramedEcho, the_smallest_and_the_largest_body) {
  EchoPeer& client = crowd_.join(address_);
  for (const size_t size : {size_t{0}, size_t{1}, kLongestBody}) {
    client.ask(frame_of(std::string(size, 'x')));
    EXPECT_TRUE(answered(client)) << size;
  }
}

TEST_P(FramedEcho, one_byte_too_many_closes_the_connection) {
  EchoPeer& client = crowd_.join(address_);
  client.ask(frame_of("right"));
  EXPECT_TRUE(answered(client));
  client.say(header_of(kLongestBody + 1));
  EXPECT_TRUE(crowd_.until([&] { return client.ended(); }));
  EXPECT_TRUE(client.answered()) << "nothing more came";
}

TEST_P(FramedEcho, a_client_that_leaves_in_the_middle_of_a_frame_disturbs_nobody) {
  EchoPeer& stays = crowd_.join(address_);
  EchoPeer& leaves = crowd_.join(address_);
  leaves.say(frame_of("gone").substr(0, 6));
  leaves.finish();
  EXPECT_TRUE(crowd_.until([&] { return leaves.ended(); }));
  EXPECT_EQ(leaves.heard(), "");
  stays.ask(frame_of("here"));
  EXPECT_TRUE(answered(stays));
}

INSTANTIATE_TEST_SUITE_P(Styles, FramedEcho, testing::Values(Style::kCallbacks, Style::kCoroutines),
                         [](const auto& chosen) {
                           return chosen.param == Style::kCallbacks ? "callbacks" : "coroutines";
                         });

}  // namespace
}  // namespace peal::cli
