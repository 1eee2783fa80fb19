// SPDX-License-Identifier: BSD-3-Clause
// The echo protocols: the server sends back what it receives, and the client compares every byte. There are two:
//
//   ping-pong   Without frames: the server sends back whatever each of its reads has returned. Every `size` bytes that
//               come back are a message, whatever the sizes of the chunks are.
//   echo        With frames: a length of 4 bytes, big-endian, and that many bytes. The server answers with the same
//               frame. A message is a frame.
#pragma once

#include <load/session/echo_pattern.h>
#include <load/session/session.h>

namespace peal::load {

class EchoProtocol final : public Protocol {
 public:
  // Makes the protocol "pingpong". Each message has `size` bytes and no frame. Asserts that `size` > 0.
  static EchoProtocol unframed(size_t size) { return {EchoPattern(size), false}; }
  // Makes the protocol "echo". Each message is a frame: 4 bytes that hold the length of the body, and then a body of
  // `size` bytes. `size` may be 0.
  static EchoProtocol framed(size_t size) { return {EchoPattern::framed(size), true}; }

  std::string_view name() const override { return framed_ ? "echo" : "pingpong"; }
  bool has_first_byte() const override { return framed_; }
  std::unique_ptr<Session> make_session(Lane& lane) const override;

 private:
  EchoProtocol(EchoPattern pattern, bool framed) : pattern_(std::move(pattern)), framed_(framed) {}

  const EchoPattern pattern_;
  const bool framed_;
};

class EchoSession final : public Session {
 public:
  // `pattern` must outlive the session. If `bounces` is true and the run is sending, the session sends received bytes
  // back to the server immediately, even if they are only a part of a message. So when the run stops sending, the
  // session may have sent only a part of the last message. Without frames, the server sends this part back, so all sent
  // bytes come back. With frames, the server would wait for the rest of the frame and would never answer. So `bounces`
  // must be false if messages have frames.
  EchoSession(Lane& lane, const EchoPattern& pattern, bool bounces);

 private:
  void send_messages(size_t count) override;
  void begin_connection() override;
  bool in_an_answer() const override { return position_ > 0; }
  uint64_t bytes_owed() const override { return owed_; }
  void on_received(Buffer& bytes) override;
  void bounce(Buffer& bytes, TimePoint now);
  void count(size_t bytes, TimePoint now);
  [[gnu::noinline]] void fail_over(const Buffer& bytes);

  const EchoPattern& pattern_;
  const bool bounces_;
  size_t position_ = 0;  // how many bytes of the current message have come back
  size_t owed_ = 0;      // bytes that were sent and have not come back
};

}  // namespace peal::load
