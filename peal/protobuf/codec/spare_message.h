// SPDX-License-Identifier: BSD-3-Clause
// SpareMessage keeps one message object of a type for reuse, together with the memory that its fields have allocated.
// Parsing into the kept object therefore usually allocates nothing. If the kept object is in use, a new one is created.
//
// Any thread may use a SpareMessage, several threads at once.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <google/protobuf/message.h>

namespace peal {

// MessageGrowth decides whether reused messages have become too large to be kept. protobuf keeps the memory of all
// submessages that were ever read into a message, so a reused message grows. Measuring a message's memory takes as long
// as reading a small message. The memory is therefore measured only after 64 uses or 2 KiB on the wire, whichever comes
// first. Only one thread at a time may use an object.
class MessageGrowth {
 public:
  // A message with a longer serialised form than this counts as too large without being measured.
  static constexpr size_t kMostWireBytes = 16 * 1024;
  // The most memory that the messages given to is_too_large() may take together without being too large.
  static constexpr size_t kMostKeptBytes = 256 * 1024;

  // Returns true if the messages have become too large to be kept. Must be called after each use. `wire_bytes` is the
  // serialised size of the content that the messages had in this use.
  template <std::same_as<google::protobuf::Message>... Messages>
  bool is_too_large(size_t wire_bytes, const Messages&... messages) {
    if (wire_bytes > kMostWireBytes) return true;
    ++uses_;
    wire_bytes_ += wire_bytes;
    if (uses_ < kUsesBetweenMeasures && wire_bytes_ < kWireBytesBetweenMeasures) [[likely]]
      return false;
    uses_ = 0;
    wire_bytes_ = 0;
    return (messages.SpaceUsedLong() + ...) > kMostKeptBytes;
  }

 private:
  static constexpr uint32_t kUsesBetweenMeasures = 64;
  // An empty submessage takes about fifty times as much memory as bytes on the wire. Between two measurements, messages
  // can thus grow by at most about 100 KiB.
  static constexpr size_t kWireBytesBetweenMeasures = 2 * 1024;

  uint32_t uses_ = 0;      // since the last measurement
  size_t wire_bytes_ = 0;  // since the last measurement
};

class SpareMessage {
 public:
  // Creates an object that keeps messages of the type of `prototype`. `prototype` is borrowed.
  explicit SpareMessage(const google::protobuf::Message& prototype) : prototype_(prototype) {}
  ~SpareMessage();
  SpareMessage(const SpareMessage&) = delete;
  SpareMessage& operator=(const SpareMessage&) = delete;

  // A Use lends a message until the Use is destroyed. This is the kept message, or a new one if the kept one is in use.
  // The SpareMessage must outlive the Use.
  class Use {
   public:
    // Returns the message, which still has the content of its last use. Parse into the message: parsing clears it
    // first.
    google::protobuf::Message& operator*() const { return *kept_->message; }
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    friend class SpareMessage;
    Use(SpareMessage& spare, size_t wire_bytes);

    SpareMessage& spare_;
    const size_t wire_bytes_;
    struct Kept {
      std::unique_ptr<google::protobuf::Message> message;
      MessageGrowth growth;
    };
    std::unique_ptr<Kept> kept_;
  };
  // Lends a message into which `wire_bytes` bytes will be parsed. After the use the message is kept, unless
  // MessageGrowth finds it too large or another message is kept already.
  Use use(size_t wire_bytes) { return {*this, wire_bytes}; }

 private:
  const google::protobuf::Message& prototype_;
  std::atomic<Use::Kept*> kept_ = nullptr;
};

}  // namespace peal
