// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/echo_crowd.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include <peal/wire/framing/integer_bytes.h>
#include <tests/support/program.h>

namespace peal {
namespace {

constexpr Duration kLittleWhile = std::chrono::milliseconds(40);

}  // namespace

std::string header_of(size_t body_bytes) {
  std::string header;
  append_integer<4>(header, body_bytes);
  return header;
}

std::string frame_of(std::string_view body) { return header_of(body.size()).append(body); }

short EchoPeer::events() const {
  if (socket_.fd() < 0 || ended()) return 0;
  const bool writing = unsent_bytes() > 0 || (finishing_ && !finished_);
  return static_cast<short>((reading_ ? POLLIN : 0) | (writing ? POLLOUT : 0));
}

void EchoPeer::move_on(short events) {
  if ((events & POLLOUT) != 0) {
    sent_ += socket_.try_send(std::string_view(to_send_).substr(sent_));
    if (unsent_bytes() == 0) {
      to_send_.clear();
      sent_ = 0;
      if (finishing_ && !std::exchange(finished_, true)) ::shutdown(socket_.fd(), SHUT_WR);
    }
  }
  // If poll(2) reports an error, reads from the socket even if the test has switched reading off, because ended() knows
  // only of errors that a read has returned.
  if ((events & (reading_ ? POLLIN | POLLERR | POLLHUP : POLLERR)) != 0) socket_.pump();
}

EchoPeer& EchoCrowd::join(const SocketAddress& address, int receive_buffer_bytes) {
  return *peers_.emplace_back(std::make_unique<EchoPeer>(address, receive_buffer_bytes));
}

std::vector<EchoPeer*> EchoCrowd::join_many(const SocketAddress& address, size_t count) {
  std::vector<EchoPeer*> joined;
  for (size_t i = 0; i < count; ++i) joined.push_back(&join(address));
  return joined;
}

bool EchoCrowd::run(TimePoint until, const std::function<bool()>& done) {
  std::vector<pollfd> entries;
  std::vector<EchoPeer*> waiting;
  while (!done()) {
    entries.clear();
    waiting.clear();
    for (const auto& peer : peers_) {
      const short events = peer->events();
      if (events == 0) continue;
      entries.push_back({.fd = peer->socket_.fd(), .events = events, .revents = 0});
      waiting.push_back(peer.get());
    }
    const Duration left = std::max(until - monotonic_now(), Duration::zero());
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (left_ms == 0 || ::poll(entries.data(), entries.size(), static_cast<int>(left_ms)) == 0) return false;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents != 0) waiting[i]->move_on(entries[i].revents);
    }
  }
  return true;
}

testing::AssertionResult EchoCrowd::until(const std::function<bool()>& done) {
  if (run(monotonic_now() + kProgramPatience, done)) return testing::AssertionSuccess();
  size_t ended = 0, heard_bytes = 0, answered = 0;
  for (const auto& peer : peers_) {
    ended += peer->ended() ? 1 : 0;
    answered += peer->answered() ? 1 : 0;
    heard_bytes += peer->heard_bytes();
  }
  return testing::AssertionFailure() << "the wait timed out: of " << peers_.size() << " clients " << answered
                                     << " have all their answers and " << ended
                                     << " have ended; together they received " << heard_bytes << " bytes";
}

testing::AssertionResult EchoCrowd::never(const std::function<bool()>& what) {
  if (!run(monotonic_now() + kLittleWhile, what)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "what must not happen has happened";
}

bool all_answered(const std::vector<EchoPeer*>& peers) {
  return std::ranges::all_of(peers, [](const EchoPeer* peer) { return peer->answered(); });
}

bool all_ended(const std::vector<EchoPeer*>& peers) {
  return std::ranges::all_of(peers, [](const EchoPeer* peer) { return peer->ended(); });
}

}  // namespace peal
