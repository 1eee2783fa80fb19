// SPDX-License-Identifier: BSD-3-Clause
// FileQueue: the file ranges that wait to be sent on one stream, each with the bytes that were queued after it. Output
// that was queued before the first range is not in the queue. Used on the engine's thread.
#pragma once

#include <deque>
#include <string_view>

#include <peal/engine/engine.h>
#include <peal/engine/readiness/parts/transfer_result.h>

namespace peal::detail {

class FileQueue {
 public:
  // Appends a range of at least one byte.
  void push(FileRange range);
  // Appends bytes after the last range. The queue must not be empty.
  void append(Buffer&& bytes);
  void append(std::string_view bytes);

  bool empty() const { return items_.empty(); }
  // Returns the memory in bytes that the queue takes: whole blocks, and one entry for each range. Blocks are counted
  // with their unused room, because many ranges may each have only a few bytes after them.
  size_t held_bytes() const { return held_bytes_; }
  // Returns how many bytes are still to be sent, including bytes of the files.
  size_t bytes() const { return bytes_; }

  // Sends at most `most` bytes of the front range by one sendfile(2). The call blocks on the disk if the bytes are not
  // in the page cache. EAGAIN: the socket takes no more. EIO: the file ends before the range.
  TransferResult send(int socket, size_t most);
  // Returns whether the front range has been sent completely.
  bool front_is_out() const { return items_.front().range.bytes == 0; }
  // Removes the front range, which must have been sent completely. Returns the bytes that were queued after it.
  Buffer pop();

 private:
  struct Item {
    FileRange range;
    Buffer behind;  // Bytes queued after the range.
  };

  template <class Bytes>
  void append_behind(Bytes&& bytes);

  std::deque<Item> items_;
  size_t bytes_ = 0;
  size_t held_bytes_ = 0;
};

}  // namespace peal::detail
