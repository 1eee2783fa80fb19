// SPDX-License-Identifier: BSD-3-Clause
// BlocksOutput: a Buffer as the stream that protobuf writes to, with the checksum of what was written. Pure; one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <google/protobuf/io/zero_copy_stream.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/adler32.h>

namespace peal::detail {

class BlocksOutput final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  // Borrows `output`, which nobody else changes until finish(). `sum`: the checksum of what stands before.
  explicit BlocksOutput(Buffer& output, uint32_t sum = kAdler32OfNothing) : output_(output), sum_(sum) {}

  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(written_bytes_ + room_.size()); }
  // Everything is in the buffer. Answers the checksum; it is not to be written to any more.
  uint32_t finish();

 private:
  Buffer& output_;
  std::span<std::byte> room_;  // given away by Next(): it counts as written
  size_t written_bytes_ = 0;
  uint32_t sum_;
};

}  // namespace peal::detail
