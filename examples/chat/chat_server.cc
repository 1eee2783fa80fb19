// SPDX-License-Identifier: BSD-3-Clause
// A chat room on one loop: every message goes to everybody. `chat_server [ADDRESS]`. One thread, so a plain map. What
// is kept of a member is its handle, which is harmless when the connection is gone.
#include <map>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/messages.h>

int main(int argc, char** argv) {
  using namespace peal;
  std::map<const Connection*, ConnectionHandle> room;
  auto on_text = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());  // one copy for all of them
    for (const auto& [key, member] : room) member.send(message);
  };
  return examples::serve(argc, argv, "127.0.0.1:9983",
                         {.on_open = [&](Connection& connection) { room.emplace(&connection, connection.handle()); },
                          .on_message = messages(examples::kChatFraming, on_text),
                          .on_close = [&](Connection& connection, CloseReason) { room.erase(&connection); }});
}
