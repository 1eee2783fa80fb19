// SPDX-License-Identifier: BSD-3-Clause
// SpareMessage: keeps one message of a type from one use to the next, with the memory that its fields have taken, so
// that reading into it allocates nothing. Who finds it in use gets a new message.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <google/protobuf/message.h>

namespace peal {

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
      uint32_t uses = 0;
    };
    std::unique_ptr<Kept> kept_;
  };
  // To read a message of so many bytes. One that is large is not kept, nor is one that has grown.
  Use use(size_t wire_bytes) { return {*this, wire_bytes}; }

  static constexpr size_t kMostWireBytes = 16 * 1024;
  // Of a kept message: measured every 64th time, because that takes as long as reading a small message.
  static constexpr size_t kMostKeptBytes = 256 * 1024;

 private:
  const google::protobuf::Message& prototype_;
  std::atomic<Use::Kept*> kept_ = nullptr;
};

}  // namespace peal
