// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/file_queue.h>

#include <sys/sendfile.h>

#include <algorithm>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {

void FileQueue::push(FileRange range) {
  PEAL_ASSERT(range.bytes > 0 && range.file != nullptr && *range.file, "a range of {} bytes of no file", range.bytes);
  file_bytes_ += range.bytes;
  items_.push_back({std::move(range), {}});
}

size_t FileQueue::append(Buffer&& bytes) {
  memory_bytes_ += bytes.size();
  items_.back().behind.append(std::move(bytes));
  return memory_bytes_;
}

size_t FileQueue::append(std::string_view bytes) {
  memory_bytes_ += bytes.size();
  items_.back().behind.append(bytes);
  return memory_bytes_;
}

Moved FileQueue::send(int socket, size_t most) {
  FileRange& range = items_.front().range;
  auto offset = static_cast<off_t>(range.offset);
  size_t wanted = std::min<uint64_t>(range.bytes, most);
  Moved moved = move_bytes([&] { return ::sendfile(socket, range.file->get(), &offset, wanted); });
  if (moved.error == 0 && moved.bytes == 0) moved.error = EIO;
  range.offset += moved.bytes;
  range.bytes -= moved.bytes;
  file_bytes_ -= moved.bytes;
  return moved;
}

Buffer FileQueue::pop() {
  PEAL_ASSERT(front_is_out(), "{} bytes of the range are not sent", items_.front().range.bytes);
  Buffer behind = std::move(items_.front().behind);
  items_.pop_front();
  memory_bytes_ -= behind.size();
  return behind;
}

}  // namespace peal::detail
