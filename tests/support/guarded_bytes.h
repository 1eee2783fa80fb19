// SPDX-License-Identifier: BSD-3-Clause
// Inputs for tests of parsers:
// - GuardedBytes: a copy of some bytes that ends at the end of its page. The next page is not mapped, so a parser that
//   reads one byte too many crashes.
// - in_parts(): a Buffer of many small blocks.
// - framed(): a message with its framing.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/frame.h>

namespace peal::test {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t capacity_bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    room_bytes_ = (capacity_bytes + page - 1) / page * page;
    mapped_bytes_ = room_bytes_ + page;
    void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PEAL_ASSERT(memory != MAP_FAILED, "{} bytes cannot be mapped", mapped_bytes_);
    start_ = static_cast<char*>(memory);
    PEAL_ASSERT(mprotect(start_ + room_bytes_, page, PROT_NONE) == 0, "the page after {} bytes cannot be protected",
                room_bytes_);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(start_, mapped_bytes_); }

  // Copies `bytes` to the end of the memory, directly before the protected page, and returns the copy. The returned
  // view is valid until the next call.
  std::string_view hold(std::string_view bytes) {
    PEAL_ASSERT(bytes.size() <= room_bytes_, "{} bytes do not fit into {}", bytes.size(), room_bytes_);
    char* place = start_ + room_bytes_ - bytes.size();
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    return {place, bytes.size()};
  }

 private:
  char* start_;
  std::size_t room_bytes_;
  std::size_t mapped_bytes_;
};

// Returns the offset of each byte except the first. Input that is cut at these offsets arrives byte by byte.
inline std::vector<std::size_t> every_byte(std::string_view input) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 1; at < input.size(); ++at) cuts.push_back(at);
  return cuts;
}

// Returns `body` as a complete message of this framing, for example with its length in front of it.
template <Framing Its>
std::string framed(const Its& framing, std::string_view body) {
  Buffer frame;
  framing.append(frame, body);
  return frame.to_string();
}

// Returns a Buffer whose blocks hold at most `part_bytes` bytes each. The Buffer::append() that copies bytes is not
// used here, because it would join the parts into larger blocks.
inline Buffer in_parts(std::string_view bytes, std::size_t part_bytes) {
  Buffer chain;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part_bytes, bytes.size()))) {
    const std::string_view part = bytes.substr(0, part_bytes);
    const auto size = static_cast<uint32_t>(part.size());
    chain.append(Buffer(BlockPool::here().wrap(share_bytes(std::string(part)), 0, size), 0, size));
  }
  return chain;
}

}  // namespace peal::test
