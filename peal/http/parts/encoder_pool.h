// SPDX-License-Identifier: BSD-3-Clause EncoderPool: the content encoders of one thread. A few free ones are kept:
// answers are coded one after the other all the time, but seldom many at once.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <peal/wire/content/content_encoder.h>

namespace peal::detail {

class EncoderPool {
 public:
  struct ReturnToPool {
    void operator()(ContentEncoder* encoder) const { give_back(std::unique_ptr<ContentEncoder>(encoder)); }
  };
  // Goes back to the pool, on the thread it came from, when it dies.
  using PooledEncoder = std::unique_ptr<ContentEncoder, ReturnToPool>;

  // The calling thread's.
  static EncoderPool& of_this_thread();
  EncoderPool() = default;
  ~EncoderPool();
  EncoderPool(const EncoderPool&) = delete;
  EncoderPool& operator=(const EncoderPool&) = delete;

  PooledEncoder take(ContentCoding coding, const ContentEncoderOptions& options);
  size_t in_use() const { return in_use_; }

 private:
  static constexpr size_t kMostFree = 4;

  static void give_back(std::unique_ptr<ContentEncoder> encoder);

  std::vector<std::unique_ptr<ContentEncoder>> free_;  // the warmest last
  size_t in_use_ = 0;
};

}  // namespace peal::detail
