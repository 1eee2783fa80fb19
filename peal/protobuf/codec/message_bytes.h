// SPDX-License-Identifier: BSD-3-Clause
// MessageBytes is a view of the bytes of a serialised message. The bytes lie in one piece, or in several blocks of a
// Buffer. Bytes in one piece are parsed as an array. Bytes in several blocks are parsed as a stream, without joining
// them.
//
// The view owns nothing: the string or Buffer that it was made of must outlive it and must not change. Pure; one thread
// at a time.
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
  // Views the whole content of `buffer`.
  explicit MessageBytes(const Buffer& buffer);

  size_t size() const { return size_; }
  // Returns true if all bytes lie in one piece.
  bool is_contiguous() const { return parts_.empty(); }
  // Returns the first piece. It holds all bytes if is_contiguous().
  std::string_view front() const { return front_; }

  // Removes the first `bytes` bytes from the view. Throws std::invalid_argument if the view has fewer bytes.
  void remove_front(size_t bytes);
  // Removes the first `bytes` bytes from the view and returns a view of them. Throws std::invalid_argument if the view
  // has fewer bytes.
  MessageBytes take_front(size_t bytes);
  // Copies the last `to.size()` bytes to `to` and removes them from the view. Throws std::invalid_argument if the view
  // has fewer bytes.
  void take_back(std::span<char> to);

  // Returns the Adler-32 checksum of all bytes (adler32.h).
  uint32_t adler32() const;
  // Returns a copy of all bytes.
  std::string to_string() const;

  // Parses the bytes and replaces the content of `message`. Returns false in these cases:
  //   - the bytes are no valid message of that type, or lack a required field;
  //   - the message nests deeper than protobuf allows (100 levels);
  //   - there are more than INT32_MAX bytes;
  //   - protobuf throws its FatalException about the message or its type.
  // After a failure, `message` may have a part of the content. Log lines of protobuf are dropped, except fatal ones.
  //
  // A parsed message may take much more memory than its bytes: an empty submessage takes two bytes here and about a
  // hundred once parsed. A limit on the size of a peer's message therefore bounds the memory only up to that factor.
  bool parse_into(google::protobuf::Message& message) const;

 private:
  // Restores the invariants after parts_ has changed: front_ is the first part, and parts_ is empty if all bytes lie in
  // one part.
  void update_front();

  std::string_view front_;
  size_t size_ = 0;
  std::vector<std::string_view> parts_;  // all pieces in order, if there are several; otherwise empty
};

}  // namespace peal
