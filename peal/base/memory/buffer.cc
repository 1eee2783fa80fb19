// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/buffer.h>

#include <algorithm>
#include <cstring>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>

namespace peal {

// Only the last part of a buffer may be empty, and only after prepare(). If the last part is empty, `part` replaces it.
void Buffer::push(Part part) {
  if (Part& before = last(); before.size() == 0) {
    if (rest_ != nullptr) rest_->capacity -= before.block->capacity_bytes;
    if (before.block != nullptr) BlockPool::release(before.block);
    before = part;
  } else {
    auto* link = new Link{part, nullptr};
    if (rest_ == nullptr) {
      rest_ = new Rest{link, link, 0, 0};
    } else {
      rest_->tail->next = link;
      rest_->tail = link;
    }
  }
  if (rest_ == nullptr) return;
  rest_->bytes += part.size();
  rest_->capacity += part.block->capacity_bytes;
}

void Buffer::pop_first() {
  if (rest_ == nullptr) {
    first_ = Part{};
    return;
  }
  Link* link = rest_->head;
  first_ = link->part;
  rest_->head = link->next;
  rest_->bytes -= first_.size();
  rest_->capacity -= first_.block->capacity_bytes;
  delete link;
  if (rest_->head == nullptr) delete std::exchange(rest_, nullptr);
}

void Buffer::clear_rest() {
  for (Link* link = rest_->head; link != nullptr;) {
    BlockPool::release(link->part.block);
    delete std::exchange(link, link->next);
  }
  delete std::exchange(rest_, nullptr);
}

void Buffer::consume_across_parts(size_t bytes) {
  if (bytes > size()) throw_bad_value("cannot consume {} bytes of a buffer of {}", bytes, size());
  while (first_.block != nullptr && bytes >= first_.size()) {
    bytes -= first_.size();
    BlockPool::release(first_.block);
    pop_first();
  }
  first_.begin += static_cast<uint32_t>(bytes);
}

Buffer Buffer::take(size_t bytes) {
  if (bytes > size()) throw_bad_value("cannot take {} bytes of a buffer of {}", bytes, size());
  Buffer front;
  while (bytes > 0 && bytes >= first_.size()) {
    bytes -= first_.size();
    front.push(first_);
    pop_first();
  }
  if (bytes == 0) return front;
  auto cut = first_.begin + static_cast<uint32_t>(bytes);
  BlockPool::add_reference(first_.block);
  front.push({first_.block, first_.begin, cut});
  first_.begin = cut;
  return front;
}

bool Buffer::may_grow(const Part& part) {
  return part.block != nullptr && BlockPool::is_sole(part.block) && part.block->shared == nullptr;
}

uint32_t Buffer::tail_room() {
  const Part& part = last();
  return may_grow(part) ? part.block->capacity_bytes - part.end : 0;
}

std::span<std::byte> Buffer::prepare_more(size_t bytes) {
  if (bytes > UINT32_MAX) throw_bad_value("cannot prepare {} bytes at once: the limit is below 4 GiB", bytes);
  if (uint32_t room = tail_room(); room < bytes || room == 0) {
    // The first block may be small. Every further block is large, so that a growing buffer does not become a long
    // chain.
    auto wanted = std::max(static_cast<uint32_t>(bytes), first_.block == nullptr ? 1U : kLargeBlockBytes);
    push({BlockPool::here().acquire(wanted), 0, 0});
  }
  Part& part = last();
  return {part.block->data + part.end, part.block->capacity_bytes - part.end};
}

void Buffer::append(std::string_view bytes) {
  while (!bytes.empty()) {
    uint32_t room = tail_room();
    size_t part = room > 0 ? std::min<size_t>(room, bytes.size()) : std::min<size_t>(kLargeBlockBytes, bytes.size());
    auto space = prepare(part);
    std::memcpy(space.data(), bytes.data(), part);
    commit(part);
    bytes.remove_prefix(part);
  }
}

void Buffer::append_other(Buffer& other) {
  PEAL_ASSERT(this != &other, "a buffer of {} bytes is appended to itself", size());
  if (other.empty()) return other.clear();
  if (empty()) {
    clear();
    return swap(other);
  }
  if (other.rest_ == nullptr && merge_into_last(other.first_)) return other.clear();
  push(std::exchange(other.first_, Part{}));
  if (Rest* more = std::exchange(other.rest_, nullptr)) {
    rest_->tail->next = more->head;
    rest_->tail = more->tail;
    rest_->bytes += more->bytes;
    rest_->capacity += more->capacity;
    delete more;
  }
}

bool Buffer::merge_into_last(const Part& part) {
  Part& before = last();
  // If the bytes of `part` directly follow the last part in the same block, the last part only becomes longer.
  if (before.block == part.block && before.end == part.begin) {
    before.end = part.end;
    if (rest_ != nullptr) rest_->bytes += part.size();
    return true;
  }
  // Shared bytes are not copied here, because their owner may check whether they are still referenced.
  if (part.size() > kLittleBytes || part.block->shared != nullptr) return false;
  // If `part` does not fit into the last block, copying it would need a new block. In that case `part` is moved instead
  // if later bytes can use the free end of its block, or if it fills a quarter of its block.
  const bool fills_its_block = part.size() > kSmallBlockBytes && part.size() >= part.block->capacity_bytes / 4;
  if (tail_room() < part.size() && (may_grow(part) || fills_its_block)) return false;
  append(std::string_view(part.data(), part.size()));
  return true;
}

void Buffer::append(const SharedBytes& shared) {
  if (shared == nullptr) return;
  if (shared->size() <= kSmallBlockBytes) return append(std::string_view(*shared));
  for (size_t at = 0; at < shared->size();) {
    const auto bytes = static_cast<uint32_t>(std::min<size_t>(shared->size() - at, UINT32_MAX));
    push({BlockPool::here().wrap(shared, at, bytes), 0, bytes});
    at += bytes;
  }
}

void Buffer::join(size_t bytes) {
  if (bytes > std::min<size_t>(size(), UINT32_MAX))
    throw_bad_value("cannot view {} bytes at once of a buffer of {}", bytes, size());
  if (bytes == 0) return;
  Part joined{BlockPool::here().acquire(static_cast<uint32_t>(bytes)), 0, 0};
  while (joined.end < bytes) {
    size_t part = std::min<size_t>(bytes - joined.end, first_.size());
    std::memcpy(joined.block->data + joined.end, first_.data(), part);
    joined.end += static_cast<uint32_t>(part);
    consume(part);
  }
  Buffer after(std::move(*this));
  first_ = joined;
  if (after.first_.block != nullptr) append_other(after);
}

void Buffer::copy_out_small_content() {
  if (empty()) return clear();
  bool pins_more = rest_ != nullptr || first_.block->capacity_bytes > kSmallBlockBytes;
  if (size() > kSmallBlockBytes || !pins_more || first_.block->shared != nullptr) return;
  join(size());
}

size_t Buffer::gather(std::span<iovec> parts) const {
  size_t used = 0;
  auto add = [&](const Part& part) {
    if (part.size() > 0) parts[used++] = {part.block->data + part.begin, part.size()};
  };
  if (first_.block != nullptr && !parts.empty()) add(first_);
  for (Link* link = rest_ == nullptr ? nullptr : rest_->head; link != nullptr && used < parts.size();
       link = link->next) {
    add(link->part);
  }
  return used;
}

size_t Buffer::block_bytes() const {
  const size_t first_bytes = first_.block == nullptr ? 0 : first_.block->capacity_bytes;
  const size_t rest_bytes = rest_ == nullptr ? 0 : rest_->capacity;
  return first_bytes + rest_bytes;
}

size_t Buffer::held_bytes() const {
  if (rest_ == nullptr) return first_.size();
  const Part& last = rest_->tail->part;
  return first_.block->capacity_bytes + rest_->capacity - last.block->capacity_bytes + last.size();
}

std::string Buffer::to_string() const {
  std::string text(front());
  text.reserve(size());
  for (Link* link = rest_ == nullptr ? nullptr : rest_->head; link != nullptr; link = link->next) {
    text.append(link->part.data(), link->part.size());
  }
  return text;
}

}  // namespace peal
