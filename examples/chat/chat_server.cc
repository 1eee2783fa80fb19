// SPDX-License-Identifier: BSD-3-Clause
// A chat room on one loop: each message goes to all members. `chat_server [ADDRESS]`. Only one thread uses the map of
// members, so the map needs no lock. The map holds a handle of each member's connection. Sending through a handle does
// nothing after the connection has closed.
#include <map>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/messages.h>

int main(int argc, char** argv) {
  using namespace peal;
  std::map<const Connection*, ConnectionHandle> room;
  auto on_text = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());  // all members share this copy
    for (const auto& [key, member] : room) member.send(message);
  };
  return examples::serve(argc, argv, "127.0.0.1:9983",
                         {.on_open = [&](Connection& connection) { room.emplace(&connection, connection.handle()); },
                          .on_message = messages(examples::kChatFraming, on_text),
                          .on_close = [&](Connection& connection, CloseReason) { room.erase(&connection); }});
}
