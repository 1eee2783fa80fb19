// SPDX-License-Identifier: BSD-3-Clause
// EncoderPool: the content encoders of one thread. The pool keeps up to four encoders that are not in use: a thread
// encodes answer after answer, and seldom several at the same time.
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
  // Owns an encoder. Its destructor gives the encoder back to the pool of the thread that runs the destructor; that
  // must be the thread of take().
  using PooledEncoder = std::unique_ptr<ContentEncoder, ReturnToPool>;

  // The pool of the calling thread.
  static EncoderPool& of_this_thread();
  EncoderPool() = default;
  ~EncoderPool();
  EncoderPool(const EncoderPool&) = delete;
  EncoderPool& operator=(const EncoderPool&) = delete;

  // A free encoder with this coding and these options, or a new one if the pool has none.
  PooledEncoder take(ContentCoding coding, const ContentEncoderOptions& options);
  // Encoders that were taken and not given back.
  size_t in_use() const { return in_use_; }

 private:
  // More encoders than this are not kept: the one that was free for longest is destroyed.
  static constexpr size_t kMostFree = 4;

  static void give_back(std::unique_ptr<ContentEncoder> encoder);

  std::vector<std::unique_ptr<ContentEncoder>> free_;  // the one used last is at the end
  size_t in_use_ = 0;
};

}  // namespace peal::detail
