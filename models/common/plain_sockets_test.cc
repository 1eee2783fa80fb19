// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/plain_sockets.h>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <tests/support/echo_crowd.h>
#include <tests/support/engine_rig.h>
#include <tests/support/program.h>
#include <tests/support/raw_peer.h>

namespace peal::models {
namespace {

class PlainSocketsTest : public testing::Test {
 protected:
  void SetUp() override {
    fds_before_ = count_open_fds();
    Result<Fd> listener = listen_at(address_of("127.0.0.1:0"), Blocking::kNo);
    ASSERT_TRUE(listener.has_value()) << listener.error().message();
    listener_ = std::move(*listener);
    const Result<SocketAddress> address = address_of_socket(listener_.get());
    ASSERT_TRUE(address.has_value());
    address_ = *address;
  }
  void TearDown() override {
    listener_.reset();
    EXPECT_EQ(count_open_fds(), fds_before_);
  }

  Fd listener_;
  SocketAddress address_;

 private:
  size_t fds_before_ = 0;
};

TEST_F(PlainSocketsTest, accept_of_an_empty_backlog_without_a_free_fd_and_after_a_shutdown) {
  EXPECT_EQ(accept_one(listener_.get(), Blocking::kNo).did, CallOutcome::kWouldBlock);
  RawPeer peer;
  FdExhaustion famine;
  peer.connect(address_);
  famine.fill();
  EXPECT_EQ(accept_one(listener_.get(), Blocking::kNo).did, CallOutcome::kNoRoom);
  famine.end();
  const Accepted accepted = accept_one(listener_.get(), Blocking::kNo);
  EXPECT_EQ(accepted.did, CallOutcome::kDone);
  EXPECT_TRUE(static_cast<bool>(accepted.socket));
  ASSERT_EQ(::shutdown(listener_.get(), SHUT_RDWR), 0);
  EXPECT_EQ(accept_one(listener_.get(), Blocking::kNo).did, CallOutcome::kEnd);
}

TEST_F(PlainSocketsTest, frames_are_read_and_their_answer_is_written) {
  RawPeer peer;
  peer.connect(address_);
  const Accepted accepted = accept_one(listener_.get(), Blocking::kNo);
  ASSERT_EQ(accepted.did, CallOutcome::kDone);
  const int fd = accepted.socket.get();
  EchoBytes buffer(100);
  EXPECT_EQ(read_some(fd, buffer).did, CallOutcome::kWouldBlock);
  peer.send(frame_of("hello"));
  ASSERT_TRUE(readable(fd));
  const Moved got = read_some(fd, buffer);
  EXPECT_EQ(got.did, CallOutcome::kDone);
  EXPECT_EQ(got.bytes, 9u);
  ASSERT_EQ(buffer.take(), FrameState::kWhole);
  const Moved sent = write_some(fd, buffer);
  EXPECT_EQ(sent.did, CallOutcome::kDone);
  EXPECT_EQ(sent.bytes, 9u);
  peer.fin();
  ASSERT_TRUE(readable(fd));
  EXPECT_EQ(read_some(fd, buffer).did, CallOutcome::kEnd);
  ASSERT_TRUE(readable(peer.fd()));
  peer.pump();
  EXPECT_EQ(peer.received(), frame_of("hello"));
}

TEST_F(PlainSocketsTest, write_to_a_full_socket_would_block_and_to_a_reset_one_ends) {
  RawPeer peer;
  peer.connect(address_);
  const Accepted accepted = accept_one(listener_.get(), Blocking::kNo);
  ASSERT_EQ(accepted.did, CallOutcome::kDone);
  const int fd = accepted.socket.get();
  peer.send(frame_of(pattern(40'000)));
  EchoBytes buffer(40'000);
  while (buffer.take() != FrameState::kWhole) {
    ASSERT_TRUE(readable(fd));
    ASSERT_EQ(read_some(fd, buffer).did, CallOutcome::kDone);
  }
  // The peer does not read, so the kernel's buffers become full.
  Moved moved{CallOutcome::kDone};
  const std::string filler(1 << 20, 'x');
  while (::send(fd, filler.data(), filler.size(), MSG_NOSIGNAL) > 0) {
  }
  moved = write_some(fd, buffer);
  EXPECT_EQ(moved.did, CallOutcome::kWouldBlock);
  EXPECT_EQ(buffer.answer().size(), 40'004u);
  peer.reset();
  ASSERT_TRUE(readable(fd));
  EXPECT_EQ(write_some(fd, buffer).did, CallOutcome::kEnd);
}

TEST_F(PlainSocketsTest, address_in_use_can_be_shared_only_if_both_listeners_are_shared) {
  EXPECT_EQ(listen_at(address_, Blocking::kYes).error(), errno_code(EADDRINUSE));
  EXPECT_EQ(listen_at(address_, Blocking::kYes, Shared::kYes).error(), errno_code(EADDRINUSE));
  Result<Fd> first = listen_at(address_of("127.0.0.1:0"), Blocking::kYes, Shared::kYes);
  ASSERT_TRUE(first.has_value());
  const Result<Fd> second = listen_at(*address_of_socket(first->get()), Blocking::kYes, Shared::kYes);
  EXPECT_TRUE(second.has_value());
}

}  // namespace
}  // namespace peal::models
