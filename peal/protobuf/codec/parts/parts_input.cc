// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/parts/parts_input.h>

#include <algorithm>

namespace peal::detail {

bool PartsInput::Next(const void** data, int* size) {
  if (part_ < parts_.size() && used_ == parts_[part_].size()) {
    ++part_;
    used_ = 0;
  }
  if (part_ == parts_.size()) return false;
  const std::string_view rest = parts_[part_].substr(used_);
  *data = rest.data();
  *size = static_cast<int>(rest.size());
  used_ += rest.size();
  read_bytes_ += rest.size();
  return true;
}

void PartsInput::BackUp(int count) {
  size_t bytes = std::min(static_cast<size_t>(std::max(count, 0)), read_bytes_);
  read_bytes_ -= bytes;
  for (; bytes > used_; used_ = parts_[part_].size()) {
    bytes -= used_;
    --part_;
  }
  used_ -= bytes;
}

bool PartsInput::Skip(int count) {
  const void* data = nullptr;
  int size = 0;
  while (count > 0 && Next(&data, &size)) {
    if (size > count) BackUp(size - count);
    count -= std::min(count, size);
  }
  return count == 0;
}

}  // namespace peal::detail
