// SPDX-License-Identifier: BSD-3-Clause
// BoundedSender: lets another thread send a lot over a connection without filling the memory. send() blocks the thread,
// so that it sends no faster than the peer reads.
//
//   std::thread worker([sender = peal::BoundedSender(connection.handle())]() mutable {
//     while (sender.send(next_piece())) {
//     }
//   });
//
// At most `most_bytes` are on their way: waiting for the connection's loop, or queued there and not yet taken by the
// kernel. Small pieces are cheap, because all that wait for the loop travel in one task. A full mailbox does not refuse
// them. Several threads may call at once; the pieces of each thread keep their order.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <peal/net/connection.h>

namespace peal {

class BoundedSender {
 public:
  // `most_bytes` must be above 0.
  explicit BoundedSender(ConnectionHandle connection, size_t most_bytes = 1024 * 1024);
  BoundedSender(BoundedSender&&) noexcept = default;
  // Replaces this sender. What the old one was given is still sent, as after its destruction.
  BoundedSender& operator=(BoundedSender&&) noexcept = default;

  // Copies `bytes` and waits until there is room for them. More than most_bytes at once wait until nothing else is on
  // its way. Returns false, without sending anything, if the connection has ended, can send no more, or was starting
  // its layer. Asserts that it is not called on the connection's own loop.
  bool send(std::string_view bytes);
  // Sends as send() does, but never waits; may be called on the loop's thread too. Also returns false if there is no
  // room; ended() tells the two cases apart.
  bool try_send(std::string_view bytes);
  // Returns true if the connection is known to accept nothing more. What was on its way may then be lost.
  bool ended() const;
  // Returns how many bytes wait for the loop or for the kernel.
  size_t bytes_on_their_way() const;

 private:
  class Account;

  bool put(std::string_view bytes, bool waits);

  ConnectionHandle connection_;
  std::shared_ptr<Account> account_;
};

}  // namespace peal
