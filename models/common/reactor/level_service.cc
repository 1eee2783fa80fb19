// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/level_service.h>

#include <utility>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/by_fd.h>
#include <peal/base/assert.h>

namespace peal::models {
struct LevelService::Client : SlowNode {
  Client(Fd socket, const ModelOptions& options, Tally& tally) : echo(std::move(socket), options, tally) {}

  EchoConnection echo;
  Wants wants = Wants::kRead;
};

LevelService::LevelService(ModelRun& run) : run_(run), slow_(run.options.slow_timeout) {}

LevelService::~LevelService() {
  for (const auto& client : clients_) tally_.ended += client == nullptr ? 0 : 1;
  run_.statistics.add(tally_);
}

void LevelService::accept(const std::function<bool(int fd)>& takes) {
  while (accept_next(takes) && run_.options.loop_accept) {
  }
}

// Tries to accept one connection. Returns true if a connection was accepted. In this case, further connections may be
// waiting.
bool LevelService::accept_next(const std::function<bool(int fd)>& takes) {
  Accepted next = accept_one(run_.listener.get(), Blocking::kNo);
  if (next.did == CallOutcome::kNoRoom) accept_again_ = monotonic_now() + kRoomPause;
  if (next.did != CallOutcome::kDone) return false;
  ++tally_.accepted;
  const int fd = next.socket.get();
  if (takes(fd)) {
    entry_of(clients_, fd) = std::make_unique<Client>(std::move(next.socket), run_.options, tally_);
  } else {
    ++tally_.refused;
  }
  return true;
}

Wants LevelService::serve(int fd) {
  std::unique_ptr<Client>& client = entry_of(clients_, fd);
  PEAL_ASSERT(client != nullptr, "fd {} is not the fd of a connection", fd);
  client->wants = client->wants == Wants::kWrite ? client->echo.on_writable() : client->echo.on_readable();
  if (client->wants == Wants::kClose) {
    ++tally_.ended;
    client.reset();
    return Wants::kClose;
  }
  slow_.follow(*client, client->echo.in_the_middle());
  return client->wants;
}

void LevelService::close_late(const std::function<void(int fd)>& on_closed) {
  if (const TimePoint next = next_deadline(); next != kNever) {
    const TimePoint now = monotonic_now();
    if (accept_again_ <= now) accept_again_ = kNever;
    while (SlowNode* late = slow_.take_late(now)) {
      const int fd = static_cast<Client&>(*late).echo.fd();
      on_closed(fd);
      entry_of(clients_, fd).reset();
      ++tally_.timed_out;
      ++tally_.ended;
    }
  }
  if (tally_.accepted + tally_.ended > 0) run_.statistics.add(tally_);
}

}  // namespace peal::models
