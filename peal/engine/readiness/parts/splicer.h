// SPDX-License-Identifier: BSD-3-Clause
// Splicer: moves bytes from one socket to another inside the kernel (splice(2)), through a pipe of its own. The pipe is
// filled only when it is empty. So when fill() reports the end of the input, everything before the end has been
// drained.
#pragma once

#include <cstddef>

#include <peal/base/fd.h>
#include <peal/engine/readiness/parts/transfer_result.h>

namespace peal::detail {

class Splicer {
 public:
  // Opens the pipe. Returns false if no fd or no memory is left for it.
  bool open();
  bool is_open() const { return static_cast<bool>(in_); }
  // Closes the pipe and drops the bytes in it.
  void close();

  size_t held_bytes() const { return held_bytes_; }

  // Moves bytes from the non-blocking socket `from` into the pipe, which must be empty, as many as fit. EAGAIN: no
  // bytes had arrived.
  TransferResult fill(int from);
  // Moves bytes from the pipe to the non-blocking socket `to`, as many as the socket takes. EAGAIN: the socket took
  // none.
  TransferResult drain(int to);

 private:
  static constexpr size_t kMostBytes = 64 * 1024;  // The default capacity of a pipe (pipe(7)).

  Fd out_;
  Fd in_;
  size_t held_bytes_ = 0;
};

}  // namespace peal::detail
