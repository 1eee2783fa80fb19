// SPDX-License-Identifier: BSD-3-Clause
// MessageBytes: bytes of a serialised message, where they lie: in one piece, or in the blocks of a Buffer. Bytes in one
// piece are parsed as an array. Bytes in several blocks are parsed as a stream, and are not joined.
//
// It owns nothing: what it was made of must live and stay as it is. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace peal {

class Buffer;

class MessageBytes {
 public:
  MessageBytes() = default;
  explicit MessageBytes(std::string_view bytes) : front_(bytes), size_(bytes.size()) {}
  // The whole content of `buffer`.
  explicit MessageBytes(const Buffer& buffer);

  size_t size() const { return size_; }
  bool is_contiguous() const { return parts_.empty(); }
  // The first piece, which is everything if is_contiguous().
  std::string_view front() const { return front_; }
  // Removes so many bytes; more than size() throw std::invalid_argument.
  void remove_front(size_t bytes);
  // Removes so many bytes, and answers them; more than size() throw std::invalid_argument.
  MessageBytes take_front(size_t bytes);
  // Removes the last `to.size()` bytes and copies them there; more than size() throw std::invalid_argument.
  void take_back(std::span<char> to);
  uint32_t adler32() const;
  std::string to_string() const;

  // Replaces the content of `message`. False if the bytes are no such message, nest deeper than protobuf allows (100),
  // lack a required field, are more than INT32_MAX, or make protobuf throw its FatalException about the message or its
  // type. `message` then holds some of them. Lines that protobuf would log about it are dropped, unless they are fatal.
  //
  // How much memory a message takes depends on its type: an empty submessage is two bytes here, and a hundred or so
  // once it is parsed. So the limit on a peer's messages bounds the memory by a factor.
  bool parse_into(google::protobuf::Message& message) const;

 private:
  // Parts were removed.
  void update_front();

  std::string_view front_;
  size_t size_ = 0;
  std::vector<std::string_view> parts_;  // all of them, in order, if they are several; else empty
};

}  // namespace peal
