// SPDX-License-Identifier: BSD-3-Clause
// EchoBytes: the only buffer of a connection. A read adds its bytes at the end of the buffer. take() then makes each
// complete frame a part of the answer. The answer has the same bytes as the frames, so it is sent without a copy.
//
//     │ sent │  answer()  │ not taken yet, the last frame perhaps in part │  room()  │
//
// A buffer belongs to one connection, and is used by one thread at a time. The buffer grows with the bytes that arrive,
// not with the length that a header announces.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <peal/wire/framing/frame.h>

namespace peal::models {

class EchoBytes {
 public:
  explicit EchoBytes(size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {}

  // Returns the free memory at the end of the buffer, into which the next read stores its bytes. The memory has at
  // least one byte. All spans that room() and answer() have returned before become invalid.
  std::span<std::byte> room();
  // Tells the buffer that a read has stored `bytes` bytes at the beginning of room(). These bytes now belong to the
  // content of the buffer.
  void filled(size_t bytes);

  // Parses the next frame. If the frame has arrived completely, adds the frame to answer(), because the answer to a
  // frame is the frame itself. Returns the state of the frame: kWhole, kMore (more bytes are needed) or kTooLong.
  // LengthFraming defines the format of a frame.
  FrameState take();
  // Returns the bytes that have to be sent: the frames that take() has added, without the bytes that sent() has
  // removed. The first frame may therefore begin in its middle.
  std::span<const std::byte> answer() const { return {bytes_.get() + sent_, taken_ - sent_}; }
  // Removes the first `bytes` bytes from answer(). Call sent() after these bytes were sent.
  void sent(size_t bytes);

  // Empties the buffer, so that another connection can use it. Frees the memory if it is larger than kKeptBytes.
  void clear();

  bool has_answer() const { return taken_ > sent_; }
  // True if the buffer contains bytes that are not in the answer yet. The result of the last take() says how these
  // bytes begin:
  // - kMore: with an incomplete frame, and no other bytes follow.
  // - kTooLong: with a frame that is too long.
  // - kWhole: with the frame after the one that was taken. take() has not parsed it yet, so it may be incomplete.
  bool in_frame() const { return filled_ > taken_; }

 private:
  static constexpr size_t kFirstBytes = 20 * 1024;  // room for a frame of 16 KiB with its header, and some more
  static constexpr size_t kKeptBytes = 160 * 1024;  // a larger buffer is freed when it is empty

  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
  size_t sent_ = 0, taken_ = 0, filled_ = 0;
  size_t max_body_bytes_;
};

}  // namespace peal::models
