// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/parts/message_writer.h>

#include <array>
#include <cstdint>
#include <cstring>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/codec/parts/blocks_output.h>
#include <peal/protobuf/codec/parts/quiet_protobuf.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal::detail {
namespace {

constexpr size_t kSumBytes = sizeof(uint32_t);

// Copies `bytes` to `to` and returns the end of the copy.
char* put(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

// Asserts that the written bytes have the size that was computed before. The sizes differ if the message was changed
// while it was written, for example by another thread.
void check_end(size_t written, size_t size) {
  PEAL_ASSERT(written == size, "a message changed while it was serialised: from {} to {} bytes", size, written);
}

// Writes one frame to `to`, which must have room for it: `uncounted`, `first` and `second` of `around`, then the
// message, then `after` of `around`. Returns the end of the written bytes.
char* write_array(char* to, const FrameAround& around, const google::protobuf::Message& message, size_t size) {
  to = put(put(put(to, around.uncounted), around.first), around.second);
  auto* const begin = reinterpret_cast<uint8_t*>(to);
  const uint8_t* const end = message.SerializeWithCachedSizesToArray(begin);
  check_end(static_cast<size_t>(end - begin), size);
  return put(to + size, around.after);
}

void write_stream(BlocksOutput& blocks, const google::protobuf::Message& message, size_t size) {
  const int64_t before = blocks.ByteCount();
  google::protobuf::io::CodedOutputStream stream(&blocks);
  message.SerializeWithCachedSizes(&stream);
  stream.Trim();
  check_end(static_cast<size_t>(blocks.ByteCount() - before), size);
}

}  // namespace

size_t checked_size(const google::protobuf::Message& message, size_t around_bytes, size_t limit_bytes) {
  if (!message.IsInitialized()) [[unlikely]]
    throw_bad_value("a {} cannot be sent: it lacks the required fields {}", message.GetTypeName(),
                    message.InitializationErrorString());
  const size_t size = message.ByteSizeLong();
  if (size > limit_bytes || around_bytes > limit_bytes - size) [[unlikely]]
    throw_bad_value("a {} of {} bytes cannot be sent: with {} bytes of its frame it exceeds the limit of {}",
                    message.GetTypeName(), size, around_bytes, limit_bytes);
  return size;
}

void append_plain(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size) {
  const QuietProtobuf quiet;
  if (const size_t all = around.bytes() + size; all <= kLargeBlockBytes) {
    write_array(reinterpret_cast<char*>(output.prepare(all).data()), around, message, size);
    return output.commit(all);
  }
  for (const std::string_view piece : {around.uncounted, around.first, around.second}) output.append(piece);
  BlocksOutput blocks(output);
  write_stream(blocks, message, size);
  blocks.finish();
  output.append(around.after);
}

void append_summed(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size) {
  const QuietProtobuf quiet;
  if (const size_t all = around.bytes() + size + kSumBytes; all <= kLargeBlockBytes) {
    char* const begin = reinterpret_cast<char*>(output.prepare(all).data());
    char* const end = write_array(begin, around, message, size);
    const char* const counted = begin + around.uncounted.size();
    const std::array<char, kSumBytes> sum = big_endian_bytes(adler32_of({counted, end}));
    std::memcpy(end, sum.data(), kSumBytes);
    return output.commit(all);
  }
  for (const std::string_view piece : {around.uncounted, around.first, around.second}) output.append(piece);
  BlocksOutput blocks(output, adler32_of(around.second, adler32_of(around.first)));
  write_stream(blocks, message, size);
  const uint32_t sum = adler32_of(around.after, blocks.finish());
  output.append(around.after);
  append_integer<kSumBytes>(output, sum);
}

}  // namespace peal::detail
