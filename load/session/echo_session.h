// SPDX-License-Identifier: BSD-3-Clause
// Echo: what is sent comes back, and every byte of it is compared. Two manners:
//
//   ping-pong   unframed: the server sends back whatever each of its reads returned. Exactly `size` bytes circulate; a
//               message is `size` bytes whatever the chunks.
//   echo        framed: a 4-byte big-endian length and that many bytes; the answer is the same frame. A message is a
//               frame.
#pragma once

#include <load/session/echo_pattern.h>
#include <load/session/session.h>

namespace peal::load {

class EchoProtocol final : public Protocol {
 public:
  // `size` > 0.
  static EchoProtocol unframed(size_t size) { return {EchoPattern(size), false}; }
  // A body of `size` bytes, which may be 0.
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
  // The pattern outlives it. `bounces`: in a closed loop what comes in goes straight back out, which only an unframed
  // server may be done to.
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
  size_t position_ = 0;  // in the message, of the next byte to come back
  size_t owed_ = 0;      // bytes sent that have not come back
};

}  // namespace peal::load
