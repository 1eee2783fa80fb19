// SPDX-License-Identifier: BSD-3-Clause
// EchoCrowd: clients of a framed echo, played by sockets of the test's own on its one thread, so that each can do what
// no polite client would. They are moved on together, with poll(2), until what the test waits for is true.
//
//   EchoPeer& peer = crowd.join(address);
//   peer.ask(frame_of("hello"));
//   ASSERT_TRUE(crowd.until([&] { return peer.answered(); }));
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <tests/support/raw_peer.h>

namespace peal {

// The body in its frame.
std::string frame_of(std::string_view body);
// Only the header, which announces so much.
std::string header_of(size_t body_bytes);

class EchoPeer {
 public:
  // Connected. `receive_buffer_bytes` bounds what the kernel takes for it; 0: as it likes.
  explicit EchoPeer(const SocketAddress& address, int receive_buffer_bytes = 0)
      : socket_(RawPeer::connected(address, receive_buffer_bytes)) {}

  // Sends it after what was said before, as soon as it goes.
  void say(std::string_view bytes) { to_send_ += bytes; }
  // This will come back.
  void expect(std::string_view frames) { wanted_ += frames; }
  // Says frames, which will come back.
  void ask(std::string_view frames) {
    say(frames);
    expect(frames);
  }
  // Says no more, and sends FIN after what it said.
  void finish() { finishing_ = true; }
  void read(bool on) { reading_ = on; }
  void reset() { socket_.reset(); }
  void close() { socket_.close(); }

  // All it asked for came back, and nothing else.
  bool answered() const { return socket_.received() == wanted_; }
  // How much came, of what was asked for or not.
  size_t heard_bytes() const { return socket_.received().size(); }
  const std::string& heard() const { return socket_.received(); }
  // The server closed it: in order, or by an error.
  bool ended() const { return socket_.ended() || socket_.error() != 0; }
  bool ended_in_order() const { return socket_.ended(); }
  size_t unsent_bytes() const { return to_send_.size() - sent_; }

 private:
  friend class EchoCrowd;
  // What it waits for, as poll(2) says it; 0: nothing.
  short events() const;
  void move_on(short events);

  RawPeer socket_;
  std::string to_send_;
  size_t sent_ = 0;
  std::string wanted_;
  bool reading_ = true;
  bool finishing_ = false;
  bool finished_ = false;
};

class EchoCrowd {
 public:
  // Lives as long as the crowd, closed or not.
  EchoPeer& join(const SocketAddress& address, int receive_buffer_bytes = 0);
  std::vector<EchoPeer*> join_many(const SocketAddress& address, size_t count);

  // Moves all on until `done`; fails after long patience.
  testing::AssertionResult until(const std::function<bool()>& done);
  // Moves all on for a little while, in which `what` shall not become true. For what must not happen.
  testing::AssertionResult never(const std::function<bool()>& what);

 private:
  bool run(TimePoint until, const std::function<bool()>& done);

  std::vector<std::unique_ptr<EchoPeer>> peers_;
};

// Of all of them.
bool all_answered(const std::vector<EchoPeer*>& peers);
bool all_ended(const std::vector<EchoPeer*>& peers);

}  // namespace peal
