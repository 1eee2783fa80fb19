// SPDX-License-Identifier: BSD-3-Clause
// Applies random operations to a Buffer and to a string. Both must have the same content after each operation.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>

namespace peal {
namespace {

class Twins {
 public:
  explicit Twins(uint32_t seed) : random_(seed) {}

  void step() {
    switch (random_() % 12) {
      case 0:
      case 1: append_text(); break;
      case 2: append_shared(); break;
      case 3: append_buffer(); break;
      case 4: fill_room(); break;
      case 5:
      case 6: drop(pick(text_.size())); break;
      case 7: take_front(); break;
      case 8: buffer_.compact(); break;
      case 9: look(pick(text_.size())); break;
      case 10: rotate(); break;
      default: buffer_.prepare(pick(40'000)); break;
    }
    if (text_.size() > 300'000) drop(text_.size() - 1000);
  }
  void check() const {
    ASSERT_EQ(buffer_.size(), text_.size());
    ASSERT_EQ(buffer_.empty(), text_.empty());
    ASSERT_EQ(buffer_.front().empty(), text_.empty());
    ASSERT_TRUE(buffer_.to_string() == text_);
    std::vector<iovec> parts(1000);
    size_t sum = 0;
    size_t count = buffer_.gather(parts);
    for (size_t i = 0; i < count; ++i) sum += parts[i].iov_len;
    ASSERT_EQ(sum, text_.size());
    ASSERT_GE(buffer_.held_bytes(), buffer_.size());
  }

 private:
  size_t pick(size_t most) {
    // Most lengths are small, some are of any size.
    size_t bound = random_() % 4 == 0 ? most : std::min<size_t>(most, 700);
    return random_() % (bound + 1);
  }
  std::string fresh(size_t most) {
    std::string text(pick(most), '\0');
    for (auto& byte : text) byte = static_cast<char>(random_());
    return text;
  }
  void append_text() {
    std::string more = fresh(60'000);
    buffer_.append(more);
    text_ += more;
  }
  void append_shared() {
    std::string more = fresh(5'000);
    buffer_.append(share_bytes(more));
    text_ += more;
  }
  void append_buffer() {
    std::string more = fresh(50'000);
    Buffer other(more);
    if (random_() % 2 == 0) other.prepare(pick(1'000));
    buffer_.append(std::move(other));
    text_ += more;
  }
  void fill_room() {
    std::string more = fresh(30'000);
    auto room = buffer_.prepare(more.size());
    ASSERT_GE(room.size(), more.size());
    std::memcpy(room.data(), more.data(), more.size());
    buffer_.commit(more.size());
    text_ += more;
  }
  void drop(size_t bytes) {
    buffer_.consume(bytes);
    text_.erase(0, bytes);
  }
  void take_front() {
    size_t bytes = pick(text_.size());
    kept_ = buffer_.take(bytes);
    ASSERT_TRUE(kept_.to_string() == text_.substr(0, bytes));
    text_.erase(0, bytes);
  }
  void look(size_t bytes) { ASSERT_TRUE(buffer_.view(bytes) == std::string_view(text_).substr(0, bytes)); }
  void rotate() {
    text_ = kept_.to_string() + text_;
    kept_.append(std::move(buffer_));
    buffer_ = std::move(kept_);
  }

  std::mt19937 random_;
  Buffer buffer_;
  Buffer kept_;  // the bytes taken last, which may share a block with buffer_
  std::string text_;
};

TEST(BufferRandom, steps_agree_with_a_string) {
  const uint64_t blocks_before = BlockPool::here().stats().blocks_in_use;
  for (uint32_t seed = 1; seed <= 15; ++seed) {
    Twins twins(seed);
    for (int i = 0; i < 300; ++i) {
      twins.step();
      twins.check();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
  }
  EXPECT_EQ(BlockPool::here().stats().blocks_in_use, blocks_before);
}

}  // namespace
}  // namespace peal
