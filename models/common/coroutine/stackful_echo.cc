// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/stackful_echo.h>

namespace peal::models {

std::optional<Fd> StackfulEcho::accept(Fiber& self, CoSocket& listener) {
  for (;;) {
    Accepted next = try_accept(listener);
    if (next.did == CallOutcome::kDone) return std::move(next.socket);
    if (next.did == CallOutcome::kEnd) return std::nullopt;
    listener.wait_to_accept(self);
    self.suspend();
  }
}

void StackfulEcho::serve(Fiber& self, Fd connection) {
  CoSocket socket(loop(), std::move(connection));
  EchoBytes buffer(options().max_body_bytes);
  FrameState last = FrameState::kMore;
  while (last != FrameState::kTooLong) {
    if (!read(self, socket, buffer)) break;
    last = take_frames(buffer);
    if (!write(self, socket, buffer)) break;
  }
  count_end(socket, last);
}

bool StackfulEcho::read(Fiber& self, CoSocket& socket, EchoBytes& buffer) {
  for (;;) {
    if (const std::optional<bool> done = socket.try_read(buffer)) return *done;
    socket.wait_to_read(buffer, self);
    self.suspend();
  }
}

bool StackfulEcho::write(Fiber& self, CoSocket& socket, EchoBytes& buffer) {
  while (buffer.has_answer()) {
    const std::optional<bool> done = socket.try_write(buffer);
    if (done == false) return false;
    if (done) continue;
    socket.wait_to_write(buffer, self);
    self.suspend();
  }
  return true;
}

}  // namespace peal::models
