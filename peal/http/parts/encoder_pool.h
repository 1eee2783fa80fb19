// SPDX-License-Identifier: BSD-3-Clause
// EncoderPool: the content encoders of one thread. A few stay when they are free: many answers are seldom coded at
// once, but one after the other all the time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <peal/wire/content/content_encoder.h>

namespace peal::detail {

class EncoderPool {
 public:
  struct GiveBack {
    void operator()(ContentEncoder* encoder) const { give_back(std::unique_ptr<ContentEncoder>(encoder)); }
  };
  // Goes back to the pool, on the thread it came from, when it dies.
  using Loan = std::unique_ptr<ContentEncoder, GiveBack>;

  // The calling thread's.
  static EncoderPool& here();
  EncoderPool() = default;
  ~EncoderPool();
  EncoderPool(const EncoderPool&) = delete;
  EncoderPool& operator=(const EncoderPool&) = delete;

  Loan take(ContentCoding coding, const ContentEncoderOptions& options);
  size_t in_use() const { return in_use_; }

 private:
  static constexpr size_t kMostFree = 4;

  static void give_back(std::unique_ptr<ContentEncoder> encoder);

  std::vector<std::unique_ptr<ContentEncoder>> free_;  // the warmest last
  size_t in_use_ = 0;
};

}  // namespace peal::detail
