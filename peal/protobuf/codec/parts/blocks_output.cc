// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/parts/blocks_output.h>

#include <string_view>

#include <peal/base/assert.h>

namespace peal::detail {

bool BlocksOutput::Next(void** data, int* size) {
  finish();
  room_ = output_.prepare(1);
  *data = room_.data();
  *size = static_cast<int>(room_.size());
  return true;
}

void BlocksOutput::BackUp(int count) {
  const auto bytes = static_cast<size_t>(count);
  PEAL_ASSERT(bytes <= room_.size(), "protobuf gives {} bytes back, of {} that it was given", bytes, room_.size());
  room_ = room_.first(room_.size() - bytes);
}

uint32_t BlocksOutput::finish() {
  sum_ = adler32_of({reinterpret_cast<const char*>(room_.data()), room_.size()}, sum_);
  if (!room_.empty()) output_.commit(room_.size());
  written_bytes_ += room_.size();
  room_ = {};
  return sum_;
}

}  // namespace peal::detail
