// SPDX-License-Identifier: BSD-3-Clause
// EchoCrowd: clients of an echo server for length-prefixed frames. Each client is a plain socket, so it can break the
// rules of the protocol. The test's thread serves all clients with poll(2) until a condition of the test is true.
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

// Returns a frame: the header, then `body`.
std::string frame_of(std::string_view body);
// Returns only the header of a frame. The header announces a body of `body_bytes` bytes.
std::string header_of(size_t body_bytes);

class EchoPeer {
 public:
  // Connects to `address`. `receive_buffer_bytes` limits the socket's receive buffer; with 0, the kernel chooses the
  // size.
  explicit EchoPeer(const SocketAddress& address, int receive_buffer_bytes = 0)
      : socket_(RawPeer::connected(address, receive_buffer_bytes)) {}

  // Queues `bytes` behind the bytes that are already queued. The queued bytes are sent while EchoCrowd::until() or
  // EchoCrowd::never() runs.
  void say(std::string_view bytes) { to_send_ += bytes; }
  // Adds `frames` to the bytes that the server is expected to send back.
  void expect(std::string_view frames) { wanted_ += frames; }
  // Queues `frames` to be sent. The server is expected to send the same frames back.
  void ask(std::string_view frames) {
    say(frames);
    expect(frames);
  }
  // Sends FIN as soon as all queued bytes are sent.
  void finish() { finishing_ = true; }
  void read(bool on) { reading_ = on; }
  void reset() { socket_.reset(); }
  void close() { socket_.close(); }

  // True if exactly the expected bytes have arrived.
  bool answered() const { return socket_.received() == wanted_; }
  // Returns how many bytes have arrived, whether they were expected or not.
  size_t heard_bytes() const { return socket_.received().size(); }
  const std::string& heard() const { return socket_.received(); }
  // True if the connection has ended, by FIN or by an error.
  bool ended() const { return socket_.ended() || socket_.error() != 0; }
  bool ended_in_order() const { return socket_.ended(); }
  size_t unsent_bytes() const { return to_send_.size() - sent_; }

 private:
  friend class EchoCrowd;
  // Returns the events for which poll(2) must wait on the peer's socket, or 0 if there are none.
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
  // Connects a new client. The returned reference is valid until the crowd is destroyed, even if the client is closed
  // before that.
  EchoPeer& join(const SocketAddress& address, int receive_buffer_bytes = 0);
  std::vector<EchoPeer*> join_many(const SocketAddress& address, size_t count);

  // Sends and receives for all clients until `done` returns true. Fails after 30 s (kProgramPatience).
  testing::AssertionResult until(const std::function<bool()>& done);
  // Sends and receives for all clients for 40 ms. Fails as soon as `what` returns true. Succeeds if `what` has returned
  // false for the whole time.
  testing::AssertionResult never(const std::function<bool()>& what);

 private:
  bool run(TimePoint until, const std::function<bool()>& done);

  std::vector<std::unique_ptr<EchoPeer>> peers_;
};

// all_answered() returns true if each peer has received exactly the bytes that it expects. all_ended() returns true if
// the connection of each peer has ended.
bool all_answered(const std::vector<EchoPeer*>& peers);
bool all_ended(const std::vector<EchoPeer*>& peers);

}  // namespace peal
