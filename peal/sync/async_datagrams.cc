// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/async_datagrams.h>

namespace peal {

// Returns the datagram in the form in which it is kept until receive(). A small datagram is copied into a small piece
// of memory, because each received datagram occupies a whole block.
static Buffer to_keep(Buffer& bytes) {
  constexpr size_t kLittle = kLargeBlockBytes / 4;
  Buffer kept;
  if (bytes.is_contiguous() && bytes.size() <= kLittle) {
    kept.append(bytes.front());
  } else {
    kept.append(std::move(bytes));
  }
  return kept;
}

AsyncDatagrams::AsyncDatagrams(Loop& loop, size_t most_waiting)
    : waiting_(most_waiting),
      socket_(loop, {.on_datagram = [this](DatagramSocket&, const SocketAddress& from, Buffer& bytes) {
                Datagram datagram(from, to_keep(bytes));
                if (!waiting_.try_push(datagram)) ++dropped_;
              }}) {}

void AsyncDatagrams::close() {
  socket_.close();
  waiting_.close();
}

}  // namespace peal
