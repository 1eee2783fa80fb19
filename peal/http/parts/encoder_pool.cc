// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/parts/encoder_pool.h>

#include <algorithm>
#include <utility>

namespace peal::detail {
namespace {

// True once the pool of this ending thread is destroyed. An encoder that is given back after that is destroyed.
constinit thread_local bool pool_is_gone = false;

}  // namespace

EncoderPool& EncoderPool::of_this_thread() {
  thread_local EncoderPool pool;
  return pool;
}

EncoderPool::~EncoderPool() { pool_is_gone = true; }

EncoderPool::PooledEncoder EncoderPool::take(ContentCoding coding, const ContentEncoderOptions& options) {
  const auto found = std::ranges::find_if(
      free_, [&](const auto& each) { return each->coding() == coding && each->options() == options; });
  std::unique_ptr<ContentEncoder> encoder;
  if (found == free_.end()) {
    encoder = std::make_unique<ContentEncoder>(coding, options);
  } else {
    encoder = std::move(*found);
    free_.erase(found);
  }
  ++in_use_;
  return PooledEncoder(encoder.release());
}

void EncoderPool::give_back(std::unique_ptr<ContentEncoder> encoder) {
  if (pool_is_gone) return;
  EncoderPool& pool = of_this_thread();
  --pool.in_use_;
  if (pool.free_.size() == kMostFree) pool.free_.erase(pool.free_.begin());
  pool.free_.push_back(std::move(encoder));
}

}  // namespace peal::detail
