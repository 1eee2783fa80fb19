// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/file_queue.h>

#include <sys/sendfile.h>

#include <algorithm>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {

void FileQueue::push(FileRange range) {
  PEAL_ASSERT(range.bytes > 0 && range.file != nullptr && *range.file,
              "a file range of {} bytes is empty or has no file", range.bytes);
  bytes_ += range.bytes;
  held_bytes_ += sizeof(Item);
  items_.push_back({std::move(range), {}});
}

template <class Bytes>
void FileQueue::append_behind(Bytes&& bytes) {
  Buffer& behind = items_.back().behind;
  bytes_ += bytes.size();
  held_bytes_ -= behind.block_bytes();
  behind.append(std::forward<Bytes>(bytes));
  behind.compact();
  held_bytes_ += behind.block_bytes();
}

void FileQueue::append(Buffer&& bytes) { append_behind(std::move(bytes)); }
void FileQueue::append(std::string_view bytes) { append_behind(bytes); }

TransferResult FileQueue::send(int socket, size_t most) {
  FileRange& range = items_.front().range;
  auto offset = static_cast<off_t>(range.offset);
  size_t wanted = std::min<uint64_t>(range.bytes, most);
  TransferResult moved = move_bytes(wanted, [&] { return ::sendfile(socket, range.file->get(), &offset, wanted); });
  if (moved.error == 0 && moved.bytes == 0) moved.error = EIO;
  range.offset += moved.bytes;
  range.bytes -= moved.bytes;
  bytes_ -= moved.bytes;
  return moved;
}

Buffer FileQueue::pop() {
  PEAL_ASSERT(front_is_out(), "{} bytes of the range are not sent", items_.front().range.bytes);
  Buffer behind = std::move(items_.front().behind);
  items_.pop_front();
  bytes_ -= behind.size();
  held_bytes_ -= behind.block_bytes() + sizeof(Item);
  return behind;
}

}  // namespace peal::detail
