// SPDX-License-Identifier: BSD-3-Clause
// Buffer: a queue of bytes as a short chain of parts of blocks. Moving one moves no byte; an empty one holds no memory.
//
// One thread at a time. A Buffer may be moved to another thread, and so may what take() has cut off: its blocks travel
// home when released. More bytes asked of it than it has, or more than 4 GiB at once, throw std::invalid_argument: the
// number may be a peer's.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/block_pool.h>

namespace peal {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::string_view bytes) { append(bytes); }
  // [begin, end) of `block`; takes over one reference the caller holds.
  Buffer(Block* block, uint32_t begin, uint32_t end) : first_{block, begin, end} {}
  Buffer(Buffer&& other) noexcept
      : first_(std::exchange(other.first_, Part{})), rest_(std::exchange(other.rest_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      clear();
      swap(other);
    }
    return *this;
  }
  ~Buffer() {
    if (first_.block != nullptr) clear();
  }

  size_t size() const { return first_.size() + (rest_ == nullptr ? 0 : rest_->bytes); }
  bool empty() const { return size() == 0; }
  bool is_contiguous() const { return rest_ == nullptr; }
  // Whether it is one part of one block, neither more nor less.
  bool is_one_part() const { return first_.block != nullptr && rest_ == nullptr; }
  // Whether it keeps any memory; an empty buffer does only after prepare().
  bool holds_blocks() const { return first_.block != nullptr; }

  // The first contiguous part; empty when the buffer is. Valid until the buffer changes.
  std::string_view front() const {
    if (first_.block == nullptr) return {};
    return {first_.data(), first_.size()};
  }
  // The same, of a buffer that is_one_part().
  std::string_view only_part() const { return {first_.data(), first_.size()}; }
  // The first `bytes` (at most size()) as one view; joins parts only when they straddle blocks.
  std::string_view view(size_t bytes) {
    if (bytes > first_.size()) join(bytes);
    return front().substr(0, bytes);
  }
  // Everything as one view.
  std::string_view view() { return view(size()); }

  // Drops the first `bytes` (at most size()).
  void consume(size_t bytes) {
    if (rest_ == nullptr && bytes == first_.size()) return clear();
    consume_across_parts(bytes);
  }
  // Cuts off the first `bytes` (at most size()); the rest stays here.
  [[nodiscard]] Buffer take(size_t bytes);
  void clear() {
    if (rest_ != nullptr) [[unlikely]]
      clear_rest();
    if (first_.block != nullptr) BlockPool::release(first_.block);
    first_ = Part{};
  }

  // The same, of a buffer that is_one_part().
  void clear_only_part() {
    BlockPool::release(first_.block);
    first_ = Part{};
  }

  // Copies in, into the room of the last block first.
  void append(std::string_view bytes);
  void append(std::span<const std::byte> bytes) {
    append(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  // Moves in. A little (5 KiB) is copied behind what is here, so that many small pieces share blocks; more is
  // not.
  void append(Buffer&& other) {
    if (first_.block == nullptr) return swap(other);
    append_other(other);
  }
  // Moves in, where this buffer is known to hold no blocks.
  void adopt(Buffer&& other) {
    first_ = std::exchange(other.first_, Part{});
    rest_ = std::exchange(other.rest_, nullptr);
  }
  // Adds shared bytes without copying them, unless they are few (512). Null ones are none.
  void append(const SharedBytes& shared);

  // Room for at least `bytes` (at most 4 GiB) at the end, to be written and then committed. Valid until the next call.
  std::span<std::byte> prepare(size_t bytes) {
    if (first_.block != nullptr || bytes - 1 >= UINT32_MAX) return prepare_more(bytes);
    first_.block = BlockPool::here().acquire(static_cast<uint32_t>(bytes));
    return {first_.block->data, first_.block->capacity_bytes};
  }
  void commit(size_t bytes) {
    Part& part = last();
    const size_t room = part.block == nullptr ? 0 : part.block->capacity_bytes - part.end;
    PEAL_ASSERT(bytes <= room, "committed {} bytes into room for {}", bytes, room);
    part.end += static_cast<uint32_t>(bytes);
    if (rest_ != nullptr) [[unlikely]]
      rest_->bytes += bytes;
  }

  // Moves a small remainder out of a large block, so that a retained byte does not pin 20 KiB. Cheap when there is
  // nothing to gain.
  void compact() {
    if (first_.block != nullptr) copy_out_small_content();
  }

  // Describes the content, from the first byte on, in at most parts.size() vectors; returns how many were filled.
  size_t gather(std::span<iovec> parts) const;
  // The memory it takes, which is what limits count: whole blocks, but of the last one the content, as its room is for
  // what comes next.
  size_t held_bytes() const;
  // The whole of its blocks, the last one's room included.
  size_t block_bytes() const;
  std::string to_string() const;

  void swap(Buffer& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(rest_, other.rest_);
  }

 private:
  // A part of a block: [begin, end). Holds one reference to it.
  struct Part {
    Block* block = nullptr;
    uint32_t begin = 0;
    uint32_t end = 0;

    uint32_t size() const { return end - begin; }
    const char* data() const { return reinterpret_cast<const char*>(block->data + begin); }
  };
  struct Link {
    Part part;
    Link* next;
  };
  // All parts but the first, which lives in the buffer itself: nearly every buffer has only that one.
  struct Rest {
    Link* head;
    Link* tail;
    size_t bytes;
    size_t capacity;  // of the blocks
  };
  static constexpr size_t kLittleBytes = kLargeBlockBytes / 4;

  std::span<std::byte> prepare_more(size_t bytes);
  void push(Part part);
  void pop_first();
  Part& last() { return rest_ == nullptr ? first_ : rest_->tail->part; }
  void consume_across_parts(size_t bytes);
  void append_other(Buffer& other);
  void clear_rest();
  void join(size_t bytes);
  void copy_out_small_content();
  static bool may_grow(const Part& part);
  uint32_t tail_room();
  bool merge_into_last(const Part& part);

  // No block: no rest either.
  Part first_;
  Rest* rest_ = nullptr;
};

}  // namespace peal
