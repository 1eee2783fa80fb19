// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/splicer.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include <peal/base/assert.h>

namespace peal::detail {

bool Splicer::open() {
  PEAL_ASSERT(!is_open() && held_bytes_ == 0, "a pipe with {} bytes is opened again", held_bytes_);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return false;
  out_.reset(ends[0]);
  in_.reset(ends[1]);
  return true;
}

void Splicer::close() {
  out_.reset();
  in_.reset();
  held_bytes_ = 0;
}

TransferResult Splicer::fill(int from) {
  PEAL_ASSERT(is_open() && held_bytes_ == 0, "a pipe with {} bytes is filled", held_bytes_);
  // The number of wanted bytes is 0, so move_bytes() does not look for a SIGPIPE after a short count. Only writing to a
  // pipe without a reader raises SIGPIPE, and the Splicer keeps the reading end open.
  constexpr size_t kNone = 0;
  TransferResult moved = move_bytes(kNone, [&] {
    return ::splice(from, nullptr, in_.get(), nullptr, kMostBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  });
  held_bytes_ = moved.bytes;
  return moved;
}

TransferResult Splicer::drain(int to) {
  TransferResult moved = move_bytes(held_bytes_, [&] {
    return ::splice(out_.get(), nullptr, to, nullptr, held_bytes_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  });
  PEAL_ASSERT(moved.error != 0 || moved.bytes > 0, "splice moved nothing out of a pipe with {} bytes", held_bytes_);
  held_bytes_ -= moved.bytes;
  return moved;
}

}  // namespace peal::detail
