// SPDX-License-Identifier: BSD-3-Clause
// Splicer: moves bytes from one socket to another through a pipe of its own, inside the kernel (splice(2)). It is
// filled only when it is empty, so the end of the input is never seen before all that came before is on its way.
#pragma once

#include <cstddef>

#include <peal/base/fd.h>
#include <peal/engine/readiness/parts/transfer_result.h>

namespace peal::detail {

class Splicer {
 public:
  // False without fds or memory for a pipe.
  bool open();
  bool is_open() const { return static_cast<bool>(in_); }
  // Drops what it holds.
  void close();
  size_t held_bytes() const { return held_bytes_; }

  // Takes from the non-blocking socket what fits; EAGAIN when there is nothing.
  TransferResult fill(int from);
  // Gives the non-blocking socket what it takes of what is held; EAGAIN when that is nothing.
  TransferResult drain(int to);

 private:
  static constexpr size_t kMostBytes = 64 * 1024;  // a pipe's default capacity (pipe(7))

  Fd out_;
  Fd in_;
  size_t held_bytes_ = 0;
};

}  // namespace peal::detail
