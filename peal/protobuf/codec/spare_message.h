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
// submessages that were ever read into a message, so a reused message grows. Measuring its memory takes as long as
// reading a small message. It is therefore measured only after 64 uses or 2 KiB on the wire, whichever comes first. One
// thread at a time.
class MessageGrowth {
 public:
  // A message that is longer than this on the wire counts as too large without being measured.
  static constexpr size_t kMostWireBytes = 16 * 1024;
  // The most memory that the messages given to is_too_large() may take together.
  static constexpr size_t kMostKeptBytes = 256 * 1024;

  // Returns true if the messages must not be kept. Call it after each use. `wire_bytes` is the serialised size of the
  // content that the messages had in this use.
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
  // An empty submessage takes about fifty times as much memory as on the wire. Between two measurements, messages can
  // thus grow by at most about 100 KiB.
  static constexpr size_t kWireBytesBetweenMeasures = 2 * 1024;

  uint32_t uses_ = 0;      // since the last measurement
  size_t wire_bytes_ = 0;  // since the last measurement
};

class SpareMessage {
 public:
  // Keeps messages of the type of `prototype`, which is borrowed.
  explicit SpareMessage(const google::protobuf::Message& prototype) : prototype_(prototype) {}
  ~SpareMessage();
  SpareMessage(const SpareMessage&) = delete;
  SpareMessage& operator=(const SpareMessage&) = delete;

  // Use lends a message until it is destroyed: either the kept message, or a new one if the kept one is in use. The
  // SpareMessage must outlive it.
  class Use {
   public:
    // Returns the message. It still holds the content of its last use, so parse into it, which clears it first.
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
  // Lends a message to read `wire_bytes` bytes into. After the use the message is kept, unless MessageGrowth finds it
  // too large or another message is kept already.
  Use use(size_t wire_bytes) { return {*this, wire_bytes}; }

 private:
  const google::protobuf::Message& prototype_;
  std::atomic<Use::Kept*> kept_ = nullptr;
};

}  // namespace peal
