// SPDX-License-Identifier: BSD-3-Clause
// The chat room on several threads, copied on write: who sends takes a reference to the room as it is and needs the
// lock only for that; who joins or leaves replaces the room. `chat_server_snapshot [ADDRESS [THREADS]]`. Sending never
// waits for other senders; joining a full room costs a copy of it.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/messages.h>

namespace {

using namespace peal;

class Room {
 public:
  using Members = std::map<const Connection*, ConnectionHandle>;

  std::shared_ptr<const Members> members() const {
    const std::lock_guard lock(mutex_);
    return members_;
  }
  // Copies only when somebody is still sending to the room as it was.
  template <class Change>
  void change(Change&& change) {
    const std::lock_guard lock(mutex_);
    if (members_.use_count() > 1) members_ = std::make_shared<Members>(*members_);
    change(*members_);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Members> members_ = std::make_shared<Members>();
};

}  // namespace

int main(int argc, char** argv) {
  Room room;
  auto on_open = [&](Connection& connection) {
    room.change([&](Room::Members& members) { members.emplace(&connection, connection.handle()); });
  };
  auto on_text = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());
    for (const auto& [key, member] : *room.members()) member.send(message);
  };
  auto on_close = [&](Connection& connection, CloseReason) {
    room.change([&](Room::Members& members) { members.erase(&connection); });
  };
  const int threads = std::atoi(examples::argument(argc, argv, 2, "2").c_str());
  return examples::serve_on_threads(
      static_cast<size_t>(std::max(threads, 1)), examples::argument(argc, argv, 1, "127.0.0.1:9983"),
      {.on_open = on_open, .on_message = messages(examples::kChatFraming, on_text), .on_close = on_close});
}
