// SPDX-License-Identifier: BSD-3-Clause
// EchoBytes: the one buffer of a connection. What is read goes in at the end, whole frames are taken one by one, and
// the answer is sent from where it lies, because the answer to a frame is the same bytes: no second copy.
//
//     │ sent │  answer()  │ not taken yet, the last frame perhaps in part │  room()  │
//
// One connection's, one thread at a time. It grows with what arrives, not with what a header announces.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <peal/wire/framing/frame.h>

namespace peal::models {

class EchoBytes {
 public:
  explicit EchoBytes(size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {}

  // Where the next read goes; never empty. Whatever was shown before has moved.
  std::span<std::byte> room();
  // So many bytes were read into room().
  void filled(size_t bytes);

  // Takes the next frame if it lies there whole: it joins answer(). The framing is LengthFraming.
  FrameState take();
  // Frames taken and not sent yet, whole ones; the first perhaps sent in part.
  std::span<const std::byte> answer() const { return {bytes_.get() + sent_, taken_ - sent_}; }
  // So many bytes of the answer left.
  void sent(size_t bytes);

  // Forgets what is in it, for another connection. The memory stays, as far as it is kept at all.
  void clear();

  bool has_answer() const { return taken_ > sent_; }
  // Bytes have come that are not a taken frame.
  bool in_frame() const { return filled_ > taken_; }

 private:
  static constexpr size_t kFirstBytes = 20 * 1024;  // a 16 KiB frame and its header, with room to spare
  static constexpr size_t kKeptBytes = 160 * 1024;  // a larger one is given back once it is empty

  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
  size_t sent_ = 0, taken_ = 0, filled_ = 0;
  size_t max_body_bytes_;
};

}  // namespace peal::models
