// SPDX-License-Identifier: BSD-3-Clause
#include <load/session.h>

#include <utility>

#include <fmt/format.h>

#include <load/lane.h>
#include <peal/base/assert.h>

namespace peal::load {

void Session::connect(const SocketAddress& target, const ConnectOptions& options) {
  PEAL_ASSERT(state_ == State::kNew, "a session in state {} connects", static_cast<int>(state_));
  state_ = State::kConnecting;
  stream_ = lane_.engine().connect(target, options, *this);
}

void Session::abandon() {
  state_ = State::kClosed;
  if (stream_) lane_.engine().close(std::exchange(stream_, {}));
}

void Session::fail(const std::string& kind, const std::string& sentence) {
  const bool was_idle = is_idle();
  abandon();
  lane_.session_failed(was_idle, kind, sentence);
}

void Session::on_connected(std::error_code error) {
  if (error) {
    abandon();
    return lane_.connect_failed(error);
  }
  state_ = State::kOpen;
  lane_.engine().receive(stream_, true);
  lane_.connected(*this);
}

void Session::on_receive_end(std::error_code error) {
  if (error) {
    fail("reset", fmt::format("a connection broke: {}", error.message()));
  } else {
    fail("closed_by_server", "the server closed a connection");
  }
}

void Session::on_send_failed(std::error_code error) {
  fail("reset", fmt::format("a connection broke while sending: {}", error.message()));
}

}  // namespace peal::load
