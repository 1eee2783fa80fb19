// SPDX-License-Identifier: BSD-3-Clause
// PartsInput: several pieces of bytes as the stream that protobuf reads. Borrows them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <google/protobuf/io/zero_copy_stream.h>

namespace peal::detail {

class PartsInput final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  // No part is empty, or longer than INT_MAX.
  explicit PartsInput(std::span<const std::string_view> parts) : parts_(parts) {}

  bool Next(const void** data, int* size) override;
  // May go back over several parts. protobuf asks for that when a peer's message ends a group that it has not begun,
  // and the next part was read ahead. The streams of protobuf throw FatalException then.
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(read_bytes_); }

 private:
  const std::span<const std::string_view> parts_;
  size_t part_ = 0;  // is read next
  size_t used_ = 0;  // bytes of that part that were read
  size_t read_bytes_ = 0;
};

}  // namespace peal::detail
