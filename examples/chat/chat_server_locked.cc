// SPDX-License-Identifier: BSD-3-Clause
// The chat room on several threads, with one lock: `chat_server_locked [ADDRESS [THREADS]]`. A sender holds the lock
// while it gives its message to all members. This is simple, but the lock is held longer if the room has more members.
#include <cstdlib>
#include <map>
#include <mutex>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/messages.h>

int main(int argc, char** argv) {
  using namespace peal;
  std::mutex mutex;
  std::map<const Connection*, ConnectionHandle> room;  // guarded by the mutex
  auto on_open = [&](Connection& connection) {
    const std::lock_guard lock(mutex);
    room.emplace(&connection, connection.handle());
  };
  auto on_text = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());
    const std::lock_guard lock(mutex);
    for (const auto& [key, member] : room) member.send(message);
  };
  auto on_close = [&](Connection& connection, CloseReason) {
    const std::lock_guard lock(mutex);
    room.erase(&connection);
  };
  const int threads = std::atoi(examples::argument(argc, argv, 2, "2").c_str());
  return examples::serve_on_threads(
      static_cast<size_t>(std::max(threads, 1)), examples::argument(argc, argv, 1, "127.0.0.1:9983"),
      {.on_open = on_open, .on_message = messages(examples::kChatFraming, on_text), .on_close = on_close});
}
