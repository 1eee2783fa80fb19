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
  // `most_bytes` limits the bytes that wait for the loop or for the kernel. The limit must be above 0.
  explicit BoundedSender(ConnectionHandle connection, size_t most_bytes = 1024 * 1024);
  BoundedSender(BoundedSender&&) noexcept = default;
  // Replaces this sender by another sender. Bytes that the replaced sender has accepted are still sent.
  BoundedSender& operator=(BoundedSender&&) noexcept = default;

  // Copies `bytes` and waits until there is room for them. If `bytes` are more than most_bytes, waits until the kernel
  // has taken all bytes that were accepted before. Returns false, without sending anything, if the connection has
  // ended, can send no more, or is in the handshake of start_layer(). Asserts that it is not called on the connection's
  // own loop.
  bool send(std::string_view bytes);
  // Sends as send() does, but returns false instead of waiting if there is no room. After false, ended() tells whether
  // the connection can send no more. May be called on the loop's thread too.
  bool try_send(std::string_view bytes);
  // Returns true if the connection is known to accept no more bytes. Bytes that were on their way may then be lost.
  bool ended() const;
  // Returns how many accepted bytes still wait for the loop or for the kernel.
  size_t bytes_on_their_way() const;

 private:
  class Account;

  bool put(std::string_view bytes, bool waits);

  ConnectionHandle connection_;
  std::shared_ptr<Account> account_;
};

}  // namespace peal
