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
  // Borrows `output`, which must not be changed otherwise until finish(). `sum` is the checksum of the bytes that
  // precede the written ones.
  explicit BlocksOutput(Buffer& output, uint32_t sum = kAdler32OfNothing) : output_(output), sum_(sum) {}

  // The functions of ZeroCopyOutputStream; protobuf calls them.
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(written_bytes_ + room_.size()); }

  // Puts the last written bytes into the buffer and returns the checksum. Nothing may be written after that.
  uint32_t finish();

 private:
  Buffer& output_;
  std::span<std::byte> room_;  // the space that Next() gave to protobuf last; counts as written
  size_t written_bytes_ = 0;
  uint32_t sum_;
};

}  // namespace peal::detail
