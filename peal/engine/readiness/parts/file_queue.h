// SPDX-License-Identifier: BSD-3-Clause
// FileQueue: the file ranges that wait to be sent on one stream, each with the bytes that were queued behind it. What
// was queued before the first range is not here. On the engine's thread.
#pragma once

#include <deque>
#include <string_view>

#include <peal/engine/engine.h>
#include <peal/engine/readiness/parts/transfer_result.h>

namespace peal::detail {

class FileQueue {
 public:
  // Of at least one byte.
  void push(FileRange range);
  // Behind the last range.
  void append(Buffer&& bytes);
  void append(std::string_view bytes);
  bool empty() const { return items_.empty(); }
  // What it takes of memory: whole blocks, since many ranges may have little behind each, and an entry for each.
  size_t held_bytes() const { return held_bytes_; }
  // All of it, what is in the files included.
  size_t bytes() const { return bytes_; }

  // Sends at most `most` bytes of the front range: one sendfile(2), which waits for the disk where the page cache has
  // not the bytes. EAGAIN when the socket takes no more, EIO when the file ends before the range.
  TransferResult send(int socket, size_t most);
  // When the front range is out: removes it and yields what follows it.
  bool front_is_out() const { return items_.front().range.bytes == 0; }
  Buffer pop();

 private:
  struct Item {
    FileRange range;
    Buffer behind;
  };

  template <class Bytes>
  void append_behind(Bytes&& bytes);

  std::deque<Item> items_;
  size_t bytes_ = 0;
  size_t held_bytes_ = 0;
};

}  // namespace peal::detail
