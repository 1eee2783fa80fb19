// SPDX-License-Identifier: BSD-3-Clause
// BoundedSender: how a thread that is not the connection's sends much without filling the memory: it is slowed down to
// the speed at which the peer reads.
//
//   std::thread worker([sender = peal::BoundedSender(connection.handle())]() mutable {
//     while (sender.send(next_piece())) {
//     }
//   });
//
// At most `most_bytes` of what it was given are on their way: waiting for the connection's loop, or in its queue and
// not yet with the kernel. What waits for the loop travels together, so small pieces are cheap, and a full mailbox
// refuses none of it. Any number of threads at once; each one's pieces keep their order.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <peal/net/connection.h>

namespace peal {

class BoundedSender {
 public:
  // `most_bytes` > 0.
  explicit BoundedSender(ConnectionHandle connection, size_t most_bytes = 1024 * 1024);
  BoundedSender(BoundedSender&&) noexcept = default;
  // What it was given before still goes out, as when it is destroyed.
  BoundedSender& operator=(BoundedSender&&) noexcept = default;

  // Copies them and waits until there is room for them; more than most_bytes wait until nothing else is on its way.
  // False: the connection has ended, or sends no more, or was starting its layer, and nothing was taken. Asserts on the
  // connection's own loop.
  bool send(std::string_view bytes);
  // The same without waiting, on the loop's thread too. False also when there is no room: ended() tells which.
  bool try_send(std::string_view bytes);
  // The connection is known to take no more; what was on its way may be lost.
  bool ended() const;
  size_t bytes_on_their_way() const;

 private:
  class Account;

  bool put(std::string_view bytes, bool waits);

  ConnectionHandle connection_;
  std::shared_ptr<Account> account_;
};

}  // namespace peal
