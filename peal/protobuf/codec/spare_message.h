// SPDX-License-Identifier: BSD-3-Clause
// SpareMessage: keeps one message of a type from one use to the next, with the memory that its fields have taken, so
// that reading into it allocates nothing. If it is in use, a new message is made.
//
// Any thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <google/protobuf/message.h>

namespace peal {

// MessageGrowth: whether messages that are used again and again have become too large to be kept. They have the
// submessages of everything that was read into them. To measure them takes as long as reading a small message, so it is
// done after 64 uses or 2 KiB on the wire, whichever comes first. One thread at a time.
class MessageGrowth {
 public:
  // A message that is longer on the wire is too large at once.
  static constexpr size_t kMostWireBytes = 16 * 1024;
  // Messages that take more memory than this, together, are too large.
  static constexpr size_t kMostKeptBytes = 256 * 1024;

  // To be asked after each use. `wire_bytes`: how much has been read into them or made in them.
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
  // Empty submessages take fifty times as much memory as on the wire: unmeasured they come to 100 KiB at most.
  static constexpr size_t kWireBytesBetweenMeasures = 2 * 1024;

  uint32_t uses_ = 0;      // since they were measured
  size_t wire_bytes_ = 0;  // since then
};

class SpareMessage {
 public:
  // `prototype` is borrowed.
  explicit SpareMessage(const google::protobuf::Message& prototype) : prototype_(prototype) {}
  ~SpareMessage();
  SpareMessage(const SpareMessage&) = delete;
  SpareMessage& operator=(const SpareMessage&) = delete;

  // A message for the time of its life. The SpareMessage outlives it.
  class Use {
   public:
    // It holds what was left in it: parse into it, which clears it first.
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
  // To read a message of so many bytes. One that is large is not kept, nor is one that has grown.
  Use use(size_t wire_bytes) { return {*this, wire_bytes}; }

 private:
  const google::protobuf::Message& prototype_;
  std::atomic<Use::Kept*> kept_ = nullptr;
};

}  // namespace peal
