// SPDX-License-Identifier: BSD-3-Clause
// The chat room on several threads, with copy-on-write: `chat_server_snapshot [ADDRESS [THREADS]]`. A sender holds the
// lock only while it copies a pointer to the current map of members. When a client joins or leaves, a changed copy
// replaces the map. Therefore no sender waits until another has finished sending, but each join and each leave copies
// the map.
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
  // Replaces the map of members by a changed copy. A thread that is still sending to the members in the old map keeps
  // that map alive.
  template <class Change>
  void change(Change&& change) {
    const std::lock_guard lock(mutex_);
    const auto changed = std::make_shared<Members>(*members_);
    change(*changed);
    members_ = changed;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Members> members_ = std::make_shared<const Members>();
};

}  // namespace

int main(int argc, char** argv) {
  Room room;
  auto on_open = [&](Connection& connection) {
    room.change([&](Room::Members& members) { members.emplace(&connection, connection.handle()); });
  };
  auto on_text = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());
    const std::shared_ptr<const Room::Members> members = room.members();
    for (const auto& [key, member] : *members) member.send(message);
  };
  auto on_close = [&](Connection& connection, CloseReason) {
    room.change([&](Room::Members& members) { members.erase(&connection); });
  };
  const int threads = std::atoi(examples::argument(argc, argv, 2, "2").c_str());
  return examples::serve_on_threads(
      static_cast<size_t>(std::max(threads, 1)), examples::argument(argc, argv, 1, "127.0.0.1:9983"),
      {.on_open = on_open, .on_message = messages(examples::kChatFraming, on_text), .on_close = on_close});
}
