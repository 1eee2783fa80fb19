// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/rpc_envelope.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/codec/parts/checked_frame.h>
#include <peal/protobuf/codec/parts/message_writer.h>
#include <peal/wire/framing/integer_bytes.h>
#include <peal/wire/framing/varint.h>

namespace peal {
namespace {

using detail::append_summed;
using detail::big_endian_bytes;
using detail::checked_size;
using detail::kFrameIntegerBytes;

// The wire types of protobuf's encoding.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };

// Returns the key that precedes the value of each field on the wire.
constexpr uint32_t key_of(uint32_t field, WireType type) { return field << 3 | type; }
constexpr uint32_t kTypeKey = key_of(1, kVarint);
constexpr uint32_t kIdKey = key_of(2, kFixed64);
constexpr uint32_t kServiceKey = key_of(3, kBytes);
constexpr uint32_t kMethodKey = key_of(4, kBytes);
constexpr uint32_t kRequestKey = key_of(5, kBytes);
constexpr uint32_t kResponseKey = key_of(6, kBytes);
constexpr uint32_t kErrorKey = key_of(7, kVarint);
constexpr uint32_t kDeadlineKey = key_of(100, kVarint);
// The size of the two required fields, type and id. Each has a key of one byte.
constexpr size_t kTypeAndIdBytes = 2 + 1 + sizeof(uint64_t);
// Two limits of protobuf: kMostNesting is the depth to which groups may nest, and kKeyMostBytes the most bytes of a key
// or of a size.
constexpr size_t kMostNesting = 100;
constexpr size_t kKeyMostBytes = 5;

// FlatInput reads the fields of a message from bytes in one piece. ChainInput below has the same functions for bytes in
// several pieces. Each function returns nullopt or false if the input is too short or malformed.
class FlatInput {
 public:
  explicit FlatInput(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool is_empty() const { return at_ == end_; }
  std::optional<uint64_t> varint(size_t most_bytes = kVarintMaxBytes) {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) [[likely]]
      return static_cast<unsigned char>(*at_++);
    const VarintPeek found = peek_varint({at_, size()});
    if (found.state != FrameState::kWhole || found.bytes > most_bytes) return std::nullopt;
    at_ += found.bytes;
    return found.value;
  }
  std::optional<uint64_t> fixed64() {
    const auto value = peek_integer<sizeof(uint64_t), std::endian::little>(std::string_view(at_, size()));
    if (value) at_ += sizeof(uint64_t);
    return value;
  }
  std::optional<std::string_view> bytes() {
    const std::optional<uint64_t> wanted = varint(kKeyMostBytes);
    if (!wanted || *wanted > size()) return std::nullopt;
    return std::string_view(std::exchange(at_, at_ + *wanted), *wanted);
  }
  bool skip(size_t bytes) {
    if (bytes > size()) return false;
    at_ += bytes;
    return true;
  }

 private:
  size_t size() const { return static_cast<size_t>(end_ - at_); }

  const char* at_;
  const char* const end_;
};

// ChainInput reads the fields of a message from bytes in several pieces.
class ChainInput {
 public:
  explicit ChainInput(MessageBytes bytes) : bytes_(std::move(bytes)) {}

  bool is_empty() const { return bytes_.size() == 0; }
  std::optional<uint64_t> varint(size_t most_bytes = kVarintMaxBytes) {
    VarintPeek found = peek_varint(bytes_.front());
    // The varint may continue in the next piece. Only in this case is the list of pieces copied, because the copy is
    // expensive.
    if (found.state == FrameState::kMore && !bytes_.is_contiguous()) {
      MessageBytes ahead = bytes_;
      found = peek_varint(ahead.take_front(std::min(ahead.size(), kVarintMaxBytes)).to_string());
    }
    if (found.state != FrameState::kWhole || found.bytes > most_bytes) return std::nullopt;
    bytes_.remove_front(found.bytes);
    return found.value;
  }
  std::optional<uint64_t> fixed64() {
    if (bytes_.size() < sizeof(uint64_t)) return std::nullopt;
    return peek_integer<sizeof(uint64_t), std::endian::little>(bytes_.take_front(sizeof(uint64_t)).to_string());
  }
  std::optional<MessageBytes> bytes() {
    const std::optional<uint64_t> wanted = varint(kKeyMostBytes);
    if (!wanted || *wanted > bytes_.size()) return std::nullopt;
    return bytes_.take_front(*wanted);
  }
  bool skip(size_t bytes) {
    if (bytes > bytes_.size()) return false;
    bytes_.remove_front(bytes);
    return true;
  }

 private:
  MessageBytes bytes_;
};

// Removes a key from the input and returns it. A key has 32 bits. Higher bits are dropped, as in protobuf.
template <class Input>
std::optional<uint32_t> take_key(Input& input) {
  const std::optional<uint64_t> value = input.varint(kKeyMostBytes);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

// Removes the value of an unknown field whose key was read before. The value may be a group, which may have further
// groups inside. A group ends with an end key that has the group's own field number. Returns false if the value is
// malformed.
template <class Input>
bool skip_field(Input& input, uint32_t key) {
  std::array<uint32_t, kMostNesting> groups;
  size_t depth = 0;
  for (;;) {
    if (key >> 3 == 0) return false;
    bool there = true;
    switch (key & 7) {
      case kVarint: there = input.varint().has_value(); break;
      case kFixed64: there = input.skip(sizeof(uint64_t)); break;
      case kBytes: there = input.bytes().has_value(); break;
      case kFixed32: there = input.skip(sizeof(uint32_t)); break;
      case kGroup:
        if (depth == groups.size()) return false;
        groups[depth++] = key >> 3;
        break;
      case kGroupEnd:
        if (depth == 0 || groups[depth - 1] != key >> 3) return false;
        --depth;
        break;
      default: return false;
    }
    if (!there) return false;
    if (depth == 0) return true;
    const std::optional<uint32_t> next = take_key(input);
    if (!next) return false;
    key = *next;
  }
}

// SmallText is a text that is written once, field by field. It is stored in an array on the stack if its size is at
// most 256 bytes, otherwise on the heap. The put functions do not check that the text stays within the constructor's
// `size`.
class SmallText {
 public:
  SmallText(const SmallText&) = delete;
  SmallText& operator=(const SmallText&) = delete;
  explicit SmallText(size_t size) {
    if (size > small_.size()) [[unlikely]] {
      large_ = std::make_unique<char[]>(size);
      begin_ = large_.get();
    }
    end_ = begin_;
  }
  void put(uint64_t number) {
    if (number < 0x80) [[likely]] {
      *end_++ = static_cast<char>(number);
    } else {
      end_ += write_varint(number, end_);
    }
  }
  void put(uint64_t key, std::string_view text) {
    put(key);
    put(text.size());
    if (!text.empty()) std::memcpy(end_, text.data(), text.size());
    end_ += text.size();
  }
  void put_fixed64(uint64_t key, uint64_t value) {
    put(key);
    const uint64_t bytes = detail::word_with_integer(value, sizeof value, false);
    std::memcpy(end_, &bytes, sizeof bytes);
    end_ += sizeof bytes;
  }
  std::string_view text() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

 private:
  std::array<char, 256> small_;
  std::unique_ptr<char[]> large_;
  char* begin_ = small_.data();
  char* end_;
};

// The most bytes of the deadline field: its key and its value.
constexpr size_t kMostDeadlineBytes = 2 + 5;

void put_type_and_id(SmallText& text, RpcType type, uint64_t id) {
  text.put(kTypeKey);
  text.put(static_cast<uint64_t>(type));
  text.put_fixed64(kIdKey, id);
}

// Appends a frame that consists of `envelope` (the fields before the payload), the payload, and `after` (the fields
// after the payload).
void append_frame(const TaggedCodec& codec, Buffer& output, std::string_view envelope, size_t payload_bytes,
                  const google::protobuf::Message& payload, std::string_view after) {
  const size_t all = codec.tag.size() + envelope.size() + payload_bytes + after.size() + kFrameIntegerBytes;
  const auto length = big_endian_bytes(static_cast<uint32_t>(all));
  append_summed(output,
                {.uncounted = {length.data(), length.size()}, .first = codec.tag, .second = envelope, .after = after},
                payload, payload_bytes);
}

// Returns the serialised size of the payload. Throws std::invalid_argument if the payload lacks a required field or is
// too long for a frame with `around_bytes` of other fields.
size_t checked_payload(const TaggedCodec& codec, size_t around_bytes, const google::protobuf::Message& payload) {
  return checked_size(payload, codec.tag.size() + kFrameIntegerBytes + around_bytes,
                      std::min(codec.limit_bytes, kMostMessageBytes));
}

// Appends a frame of an RpcMessage that has no payload. `envelope` has all its fields.
void append_without_payload(Buffer& output, std::string_view envelope) {
  std::string body(kRpcTag);
  body += envelope;
  append_integer<kFrameIntegerBytes>(body, adler32_of(body));
  append_integer<kFrameIntegerBytes>(output, body.size());
  output.append(body);
}

}  // namespace

std::string_view RpcEnvelope::text_of(const MessageBytes& bytes) {
  if (bytes.is_contiguous()) return bytes.front();
  return joined_.emplace_front(bytes.to_string());
}

std::expected<void, Trouble> RpcEnvelope::read_opened(const std::expected<MessageBytes, Trouble>& opened) {
  if (!opened) return std::unexpected(opened.error());
  return read(*opened);
}

std::expected<void, Trouble> RpcEnvelope::read(const MessageBytes& bytes) {
  bool read = false;
  if (bytes.is_contiguous()) {
    FlatInput input(take_type_and_id(bytes.front()));
    read = read_fields(input);
  } else {
    ChainInput input(bytes);
    read = read_fields(input);
  }
  if (!read || !type_ || !id_) return std::unexpected(Trouble::kUnreadableMessage);
  return {};
}

// If the message begins with the type and the id, reads both and returns the bytes after them. Otherwise reads nothing
// and returns all bytes. Most peers write the fields in order, so their messages begin with 08, the type, 11 and the
// id. This function is faster than the loop over fields.
std::string_view RpcEnvelope::take_type_and_id(std::string_view bytes) {
  if (bytes.size() < kTypeAndIdBytes || bytes[0] != kTypeKey || bytes[2] != kIdKey || bytes[1] < 1 || bytes[1] > 3)
    return bytes;
  type_ = static_cast<RpcType>(bytes[1]);
  id_ = peek_integer<sizeof(uint64_t), std::endian::little>(bytes.substr(3));
  return bytes.substr(kTypeAndIdBytes);
}

template <class Input>
bool RpcEnvelope::read_fields(Input& input) {
  while (!input.is_empty()) {
    const std::optional<uint32_t> key = take_key(input);
    if (!key || !read_field(input, *key)) return false;
  }
  return true;
}

template <class Input>
bool RpcEnvelope::read_field(Input& input, uint32_t key) {
  switch (key) {
    case kIdKey: id_ = input.fixed64(); return id_.has_value();
    case kTypeKey:
    case kErrorKey:
    case kDeadlineKey: {
      const std::optional<uint64_t> value = input.varint();
      if (value) set_number(key, *value);
      return value.has_value();
    }
    case kServiceKey:
    case kMethodKey:
    case kRequestKey:
    case kResponseKey: {
      auto value = input.bytes();
      if (value) set_bytes(key, *value);
      return value.has_value();
    }
    default: return skip_field(input, key);
  }
}

void RpcEnvelope::set_number(uint32_t key, uint64_t value) {
  // protobuf drops bits that do not fit into a field, and ignores an unknown type. This function does so too.
  const auto low = static_cast<uint32_t>(value);
  if (key == kTypeKey && low >= 1 && low <= 3) type_ = static_cast<RpcType>(low);
  if (key == kErrorKey) error_ = static_cast<int32_t>(low);
  if (key == kDeadlineKey) deadline_ms_ = low;
}

template <class Bytes>
void RpcEnvelope::set_bytes(uint32_t key, const Bytes& bytes) {
  switch (key) {
    case kServiceKey: service_ = text_of(bytes); return;
    case kMethodKey: method_ = text_of(bytes); return;
    case kRequestKey: request_ = MessageBytes(bytes); return;
    default: response_ = MessageBytes(bytes); return;
  }
}

void append_request(const TaggedCodec& codec, Buffer& output, const RpcRequestHead& head,
                    const google::protobuf::Message& request) {
  const size_t names_bytes = head.service.size() + head.method.size();
  const size_t around_bytes = kTypeAndIdBytes + 3 * (1 + kVarintMaxBytes) + names_bytes + kMostDeadlineBytes;
  const size_t size = checked_payload(codec, around_bytes, request);
  SmallText envelope(around_bytes);
  put_type_and_id(envelope, RpcType::kRequest, head.id);
  envelope.put(kServiceKey, head.service);
  envelope.put(kMethodKey, head.method);
  envelope.put(kRequestKey);
  envelope.put(size);
  SmallText after(kMostDeadlineBytes);
  if (head.deadline_ms) {
    after.put(kDeadlineKey);
    after.put(*head.deadline_ms);
  }
  append_frame(codec, output, envelope.text(), size, request, after.text());
}

void append_response(const TaggedCodec& codec, Buffer& output, uint64_t id, const google::protobuf::Message& response) {
  constexpr size_t kAroundBytes = kTypeAndIdBytes + 1 + kVarintMaxBytes;
  const size_t size = checked_payload(codec, kAroundBytes, response);
  SmallText envelope(kAroundBytes);
  put_type_and_id(envelope, RpcType::kResponse, id);
  envelope.put(kResponseKey);
  envelope.put(size);
  append_frame(codec, output, envelope.text(), size, response, {});
}

void append_error(Buffer& output, uint64_t id, int32_t error) {
  SmallText envelope(kTypeAndIdBytes + 1 + kVarintMaxBytes);
  put_type_and_id(envelope, RpcType::kResponse, id);
  envelope.put(kErrorKey);
  envelope.put(static_cast<uint64_t>(int64_t{error}));
  append_without_payload(output, envelope.text());
}

void append_cancel(Buffer& output, uint64_t id) {
  SmallText envelope(kTypeAndIdBytes);
  put_type_and_id(envelope, RpcType::kCancel, id);
  append_without_payload(output, envelope.text());
}

}  // namespace peal
