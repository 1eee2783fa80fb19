// SPDX-License-Identifier: BSD-3-Clause
// Bytes that tests of parsers read. GuardedBytes: a copy of some bytes whose last one is the last of its page, with an
// unmapped page behind it. Whoever reads one byte too far crashes. in_parts(): a Buffer of many small blocks. framed():
// a message with its framing.
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
    PEAL_ASSERT(memory != MAP_FAILED, "no {} bytes to test with", mapped_bytes_);
    start_ = static_cast<char*>(memory);
    PEAL_ASSERT(mprotect(start_ + room_bytes_, page, PROT_NONE) == 0, "no guard behind {} bytes", room_bytes_);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(start_, mapped_bytes_); }

  // Puts `bytes` against the guard; the view is valid until the next call.
  std::string_view hold(std::string_view bytes) {
    PEAL_ASSERT(bytes.size() <= room_bytes_, "{} bytes into room for {}", bytes.size(), room_bytes_);
    char* place = start_ + room_bytes_ - bytes.size();
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    return {place, bytes.size()};
  }

 private:
  char* start_;
  std::size_t room_bytes_;
  std::size_t mapped_bytes_;
};

// Where bytes are cut that come one by one: a new piece begins at each.
inline std::vector<std::size_t> every_byte(std::string_view input) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 1; at < input.size(); ++at) cuts.push_back(at);
  return cuts;
}

// A message as it stands in a stream.
template <Framing Its>
std::string framed(const Its& framing, std::string_view body) {
  Buffer frame;
  framing.append(frame, body);
  return frame.to_string();
}

// The bytes in blocks of `part_bytes` each, which append() does not join.
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
