// SPDX-License-Identifier: BSD-3-Clause
// The chat room on several threads: `chat_server_thread_local [ADDRESS [THREADS]]`. Each thread has its own map with
// the members that it serves. A message is handed once to every loop. Each loop then sends the message to its own
// members, so no lock is needed.
#include <cstdlib>
#include <map>
#include <vector>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/messages.h>

namespace {

using namespace peal;

// The members whose connections belong to the loop of this thread.
thread_local std::map<const Connection*, ConnectionHandle> t_room;

}  // namespace

int main(int argc, char** argv) {
  const int threads = std::max(1, std::atoi(examples::argument(argc, argv, 2, "2").c_str()));
  Loop signals;
  if (auto done = signals.stop_on_signals(); !done) return examples::failed("cannot handle signals", done.error());
  auto group = LoopGroup::start(static_cast<size_t>(threads));
  if (!group) return examples::failed("cannot start the loops", group.error());
  auto tell_everybody = [&](Connection&, std::string_view text) {
    const SharedBytes message = share_bytes(examples::chat_message(text).to_string());
    for (size_t i = 0; i < (*group)->size(); ++i) {
      (**group)[i].run_in_loop([message] {
        for (const auto& [key, member] : t_room) member.send(message);
      });
    }
  };
  Server server(**group, {.on_open = [](Connection& connection) { t_room.emplace(&connection, connection.handle()); },
                          .on_message = messages(examples::kChatFraming, tell_everybody),
                          .on_close = [](Connection& connection, CloseReason) { t_room.erase(&connection); }});
  if (!examples::listen(server, examples::argument(argc, argv, 1, "127.0.0.1:9983"))) return 1;
  return signals.run() ? 0 : 1;
}
