// SPDX-License-Identifier: BSD-3-Clause
// PartsInput is the input stream through which protobuf reads bytes that lie in several pieces. Pure; one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <google/protobuf/io/zero_copy_stream.h>

namespace peal::detail {

class PartsInput final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  // Borrows `parts` and their bytes. No part may be empty or longer than INT_MAX.
  explicit PartsInput(std::span<const std::string_view> parts) : parts_(parts) {}

  // The functions of protobuf's ZeroCopyInputStream, which protobuf calls.
  bool Next(const void** data, int* size) override;
  // Goes back by `count` bytes, also over several parts. protobuf's own streams throw FatalException if they are asked
  // to go back over several parts. protobuf asks for that after it has read ahead, if a message ends a group that has
  // not begun.
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(read_bytes_); }

 private:
  const std::span<const std::string_view> parts_;
  size_t part_ = 0;        // the index of the part that is read next
  size_t used_ = 0;        // the bytes of that part that were read already
  size_t read_bytes_ = 0;  // of all parts together
};

}  // namespace peal::detail
