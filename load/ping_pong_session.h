// SPDX-License-Identifier: BSD-3-Clause
// Ping-pong: unframed bytes that the server sends back as they come. Exactly `size` of them circulate; a message is
// `size` bytes whatever the chunks, and every byte is compared with what was sent.
#pragma once

#include <load/echo_pattern.h>
#include <load/session.h>

namespace peal::load {

class PingPong final : public Protocol {
 public:
  explicit PingPong(size_t size) : pattern_(size) {}
  std::string_view name() const override { return "pingpong"; }
  std::unique_ptr<Session> make_session(Lane& lane) const override;

 private:
  const EchoPattern pattern_;
};

class PingPongSession final : public Session {
 public:
  // The pattern outlives it.
  PingPongSession(Lane& lane, const EchoPattern& pattern) : Session(lane), pattern_(pattern) {}

  void start() override;
  bool is_idle() const override { return owed_ == 0; }

 private:
  void on_received(Buffer& bytes) override;
  [[gnu::noinline]] void fail_over(const Buffer& bytes);

  const EchoPattern& pattern_;
  size_t position_ = 0;  // in the lap, of the next byte to come back
  size_t owed_ = 0;      // bytes sent that have not come back
};

}  // namespace peal::load
