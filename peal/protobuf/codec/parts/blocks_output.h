// SPDX-License-Identifier: BSD-3-Clause
// BlocksOutput is the output stream through which protobuf writes into a Buffer. It also computes the checksum of the
// written bytes. Pure; one thread at a time.
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
  // Borrows `output`, which only this object may change until finish() is called. `sum` is the checksum of bytes that
  // precede the bytes to be written.
  explicit BlocksOutput(Buffer& output, uint32_t sum = kAdler32OfNothing) : output_(output), sum_(sum) {}

  // The functions of protobuf's ZeroCopyOutputStream, which protobuf calls.
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(written_bytes_ + room_.size()); }

  // Appends the bytes that were written last to the buffer, and returns the checksum. No byte may be written after
  // that.
  uint32_t finish();

 private:
  Buffer& output_;
  std::span<std::byte> room_;  // the space that Next() gave to protobuf last; counts as written
  size_t written_bytes_ = 0;
  uint32_t sum_;
};

}  // namespace peal::detail
