// SPDX-License-Identifier: BSD-3-Clause
// Buffer is a queue of bytes. It is a chain of parts of blocks (block_pool.h), which is short as a rule. To move a
// Buffer copies no bytes. An empty Buffer holds no memory, except after prepare().
//
// A Buffer is used by one thread at a time. It may be moved to another thread, also if take() has cut it off another
// Buffer: its blocks return to their own pools when they are released.
//
// A function that is asked for more bytes than the Buffer has, or for 4 GiB or more at once, throws
// std::invalid_argument. It does not assert, because the number may come from a peer.
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

  // Makes a buffer of the bytes [begin, end) of `block`. The buffer takes over one reference from the caller.
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

  // Returns the number of bytes in the buffer.
  size_t size() const { return first_.size() + (rest_ == nullptr ? 0 : rest_->bytes); }
  bool empty() const { return size() == 0; }

  // True if the buffer has at most one part, so that front() has all its bytes.
  bool is_contiguous() const { return rest_ == nullptr; }

  // True if the buffer has exactly one part.
  bool is_one_part() const { return first_.block != nullptr && rest_ == nullptr; }

  // True if the buffer holds memory. For an empty buffer that is possible only after prepare().
  bool holds_blocks() const { return first_.block != nullptr; }

  // Returns the first contiguous part, or an empty view if the buffer is empty. Valid until the buffer changes.
  std::string_view front() const {
    if (first_.block == nullptr) return {};
    return {first_.data(), first_.size()};
  }

  // Returns all bytes of a buffer for which is_one_part() is true. That condition is not checked, which makes the
  // function faster than front().
  std::string_view only_part() const { return {first_.data(), first_.size()}; }

  // Returns the first `bytes` (at most size()) as one view. If these bytes are in several parts, they are first copied
  // into one block. The view is valid until the buffer changes.
  std::string_view view(size_t bytes) {
    if (bytes > first_.size()) join(bytes);
    return front().substr(0, bytes);
  }

  // Returns all bytes as one view. If they are in several parts, they are first copied into one block. The view is
  // valid until the buffer changes.
  std::string_view view() { return view(size()); }

  // Removes the first `bytes` (at most size()) and releases the blocks that become empty.
  void consume(size_t bytes) {
    if (rest_ == nullptr && bytes == first_.size()) return clear();
    consume_across_parts(bytes);
  }

  // Removes the first `bytes` (at most size()) and returns them. No bytes are copied: if the cut is inside a block,
  // both buffers refer to that block.
  [[nodiscard]] Buffer take(size_t bytes);

  // Removes all bytes and releases all blocks.
  void clear() {
    if (rest_ != nullptr) [[unlikely]]
      clear_rest();
    if (first_.block != nullptr) BlockPool::release(first_.block);
    first_ = Part{};
  }

  // Removes all bytes of a buffer for which is_one_part() is true, and releases the block. That condition is not
  // checked, which makes the function faster than clear().
  void clear_only_part() {
    BlockPool::release(first_.block);
    first_ = Part{};
  }

  // Copies the bytes to the end of the buffer. The unused end of the last block is filled first.
  void append(std::string_view bytes);
  void append(std::span<const std::byte> bytes) {
    append(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  // Moves the content of `other` to the end of this buffer and leaves `other` empty. If `other` has only one part of at
  // most 5 KiB, the bytes may be copied instead, so that many small pieces share blocks.
  void append(Buffer&& other) {
    if (first_.block == nullptr) return swap(other);
    append_other(other);
  }

  // Moves the content of `other` into this buffer. holds_blocks() of this buffer must be false, which is not checked.
  void adopt(Buffer&& other) {
    first_ = std::exchange(other.first_, Part{});
    rest_ = std::exchange(other.rest_, nullptr);
  }

  // Appends shared bytes without copying them, or copies them if there are at most 512 bytes. A null pointer adds
  // nothing.
  void append(const SharedBytes& shared);

  // Returns writable memory for at least `bytes` (below 4 GiB) after the last byte. The caller writes into this memory
  // and then calls commit(). The memory is valid until the next call that changes the buffer.
  std::span<std::byte> prepare(size_t bytes) {
    if (first_.block != nullptr || bytes - 1 >= UINT32_MAX) return prepare_more(bytes);
    first_.block = BlockPool::here().acquire(static_cast<uint32_t>(bytes));
    return {first_.block->data, first_.block->capacity_bytes};
  }

  // Appends the first `bytes` of the memory that prepare() has returned to the content. Asserts that this memory has so
  // many bytes.
  void commit(size_t bytes) {
    Part& part = last();
    const size_t room = part.block == nullptr ? 0 : part.block->capacity_bytes - part.end;
    PEAL_ASSERT(bytes <= room, "committed {} bytes into room for {}", bytes, room);
    part.end += static_cast<uint32_t>(bytes);
    if (rest_ != nullptr) [[unlikely]]
      rest_->bytes += bytes;
  }

  // If at most 512 bytes remain, copies them into a small block and releases their larger blocks. Without that, a
  // single byte could keep 20 KiB in use. The call is cheap if there is no memory to save.
  void compact() {
    if (first_.block != nullptr) copy_out_small_content();
  }

  // Fills `parts` with pointers to the content, from the first byte on, for writev(2). Returns how many entries were
  // filled. The content may be longer than what fits into `parts`.
  size_t gather(std::span<iovec> parts) const;

  // Returns how much memory limits count for this buffer: the capacity of all blocks except the last, plus the content
  // of the last block. The free end of the last block is not counted, because it can still take further bytes.
  size_t held_bytes() const;

  // Returns the capacity of all blocks of the buffer.
  size_t block_bytes() const;

  // Returns a copy of all bytes.
  std::string to_string() const;

  void swap(Buffer& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(rest_, other.rest_);
  }

 private:
  // The bytes [begin, end) of a block. The part owns one reference to the block.
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
  // All parts except the first. The first one is stored in the Buffer itself, because most buffers have only one part.
  struct Rest {
    Link* head;
    Link* tail;
    size_t bytes;     // in all these parts
    size_t capacity;  // of all their blocks
  };
  // append(Buffer&&) may copy a part of at most this size. Larger parts are always moved.
  static constexpr size_t kLittleBytes = kLargeBlockBytes / 4;

  // Does the work of prepare() if the buffer already holds a block, or if `bytes` is 0 or too large.
  std::span<std::byte> prepare_more(size_t bytes);

  // Appends a part to the chain and takes over its reference.
  void push(Part part);

  // Removes the first part without releasing its block.
  void pop_first();

  // Returns the last part, which has no block if the buffer holds none.
  Part& last() { return rest_ == nullptr ? first_ : rest_->tail->part; }

  // Does the work of consume() unless the buffer has one part and all its bytes are removed.
  void consume_across_parts(size_t bytes);

  // Does the work of append(Buffer&&) for a buffer that holds a block.
  void append_other(Buffer& other);

  // Releases all parts except the first.
  void clear_rest();

  // Does the work of compact() for a buffer that holds a block.
  void join(size_t bytes);

  // Does the work of compact() for a buffer that holds blocks.
  void copy_out_small_content();

  // True if the unused end of the part's block may be written: no other part refers to the block.
  static bool may_grow(const Part& part);

  // Appends the bytes of `part` to the last block of this buffer, and leaves the reference of `part` to the caller.
  // Returns false and appends nothing if the caller has to move `part` into the chain instead.
  uint32_t tail_room();

  // The first part. If it has no block, the buffer is empty and rest_ is null.
  bool merge_into_last(const Part& part);

  // If the first part has no block, rest_ is null.
  Part first_;
  Rest* rest_ = nullptr;
};

}  // namespace peal
