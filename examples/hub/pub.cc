// SPDX-License-Identifier: BSD-3-Clause
// Publishes to a hub: `pub ADDRESS TOPIC CONTENT`. If CONTENT is `-`, publishes each line of standard input as a
// message.
#include <iostream>

#include <examples/hub/hub_codec.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  if (argc != 4) {
    fmt::print(stderr, "usage: pub ADDRESS TOPIC CONTENT|-\n");
    return 2;
  }
  const std::string topic = argv[2];
  std::string content = argv[3];
  std::string messages;
  if (content != "-") messages = publication(topic, content);
  while (argv[3] == std::string_view("-") && std::getline(std::cin, content)) messages += publication(topic, content);
  int exit_code = 1;
  Loop loop;
  // close() sends the queued messages and FIN, and waits for the hub's FIN. The hub answers the client's FIN with its
  // own, so the reason kLocal in on_close means that the hub has received everything. The exception is a hub that
  // refuses a message: that hub sends FIN too, so the client also gets kLocal.
  Client client(loop,
                {.on_open =
                     [&](Connection& connection) {
                       connection.send(messages);
                       connection.close();
                     },
                 .on_close =
                     [&](Connection&, CloseReason reason) {
                       exit_code = reason == CloseReason::kLocal ? 0 : 1;
                       loop.stop();
                     }},
                {}, [&](std::error_code error, Duration) {
                  failed("cannot connect to the hub", error);
                  loop.stop();
                });
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  const int ran = run(loop);
  return ran == 0 ? exit_code : ran;
}
