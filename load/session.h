// SPDX-License-Identifier: BSD-3-Clause
// Session: one connection that messages go round on. One implementation a protocol, made by its Protocol; what all of
// them share (connecting, failing, being closed) is here. It belongs to a Lane and its thread.
//
// A session is idle, or has one message under way: start() sends it, and the implementation tells the lane when it has
// come back (Lane::message_done) and when nothing of it is outstanding any more (Lane::idle).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <peal/base/clock.h>
#include <peal/engine/engine.h>

namespace peal::load {

class Lane;

// The message under way, or the last one.
struct Lap {
  TimePoint due;  // when the schedule wanted it sent; closed loop: when it was
  TimePoint sent;
  TimePoint ended;  // when the last one came back
};

class Session : public StreamEvents {
 public:
  explicit Session(Lane& lane) : lane_(lane) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void connect(const SocketAddress& target, const ConnectOptions& options);
  // Closes it without a failure.
  void abandon();
  bool open() const { return state_ == State::kOpen; }
  // It failed, or was abandoned.
  bool closed() const { return state_ == State::kClosed; }

  // Sends one message. Of an open, idle session.
  virtual void start() = 0;
  // Nothing it sent is outstanding.
  virtual bool is_idle() const = 0;

  Lap lap;
  bool served = false;  // a message came back on it

 protected:
  Lane& lane() { return lane_; }
  StreamId stream() const { return stream_; }
  // Counts a failure of this kind and closes. Nothing more happens on this session.
  void fail(const std::string& kind, const std::string& sentence);

 private:
  enum class State : uint8_t { kNew, kConnecting, kOpen, kClosed };

  void on_connected(std::error_code error) final;
  void on_receive_end(std::error_code error) final;
  void on_send_failed(std::error_code error) final;
  void on_sent(size_t) final {}
  void on_closed() final {}
  void on_detached(LooseStream) final {}

  Lane& lane_;
  StreamId stream_;
  State state_ = State::kNew;
};

// What goes round, as a factory of sessions. Immutable; shared by all threads.
class Protocol {
 public:
  virtual ~Protocol() = default;
  // As the command line calls it.
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<Session> make_session(Lane& lane) const = 0;
};

}  // namespace peal::load
