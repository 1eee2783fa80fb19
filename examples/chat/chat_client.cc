// SPDX-License-Identifier: BSD-3-Clause
// Sends each line of standard input to a chat room, and prints the messages of the room: `chat_client ADDRESS`. A
// second thread reads standard input. It sends through a ConnectionHandle, because only a handle may be used on another
// thread. The program ends half a second after the end of the input.
#include <iostream>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/base/thread/thread.h>
#include <peal/net/client.h>
#include <peal/net/messages.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  if (argc != 2) {
    fmt::print(stderr, "usage: chat_client ADDRESS\n");
    return 2;
  }
  int exit_code = 1;
  Thread keyboard;
  Loop loop;
  auto read_lines = [&](const ConnectionHandle& connection) {
    std::string line;
    // Lines are cut to the limit of the framing, because chat_message() would throw for a longer text. The room closes
    // a connection that sends a longer message.
    while (std::getline(std::cin, line)) connection.send(chat_message(line.substr(0, kChatFraming.limit_bytes)));
    loop.post([&, connection] {
      exit_code = 0;
      loop.after(std::chrono::milliseconds(500), [connection] { connection.close(); });
    });
  };
  auto on_text = [](Connection&, std::string_view text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  Client client(loop,
                {.on_open =
                     [&](Connection& connection) {
                       auto started = Thread::start("keyboard", [&, handle = connection.handle()](
                                                                    const std::stop_token&) { read_lines(handle); });
                       if (!started) return connection.close();
                       keyboard = std::move(*started);
                     },
                 .on_message = messages(kChatFraming, on_text),
                 .on_close = [&](Connection&, CloseReason) { loop.stop(); }},
                {}, [&](std::error_code error, Duration) {
                  failed("cannot connect", error);
                  loop.stop();
                });
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  const int ran = run(loop);
  // If the loop has ended before the input, the keyboard thread may still wait for a line. The destructor of `keyboard`
  // would wait for that thread without limit, so _Exit() ends the program without calling destructors.
  if (ran != 0 || exit_code != 0) std::_Exit(1);
  return 0;
}
