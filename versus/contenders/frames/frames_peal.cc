// SPDX-License-Identifier: BSD-3-Clause
// frames_peal hand|messages|coroutine LISTEN: an echo server for messages, each preceded by its length (4 bytes,
// big-endian). The three styles differ in the framing: written by hand, messages(), and Stream::read(framing). `versus
// bench --only framing` counts what a message costs in each style.
#include <arpa/inet.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <peal/coro/co_server.h>
#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/wire/framing/length_framing.h>

using namespace peal;

namespace {

constexpr LengthFraming kFraming{.limit_bytes = 64 * 1024};

void answer(Connection& connection, std::string_view body) {
  Buffer frame;
  kFraming.append(frame, body);
  connection.send(std::move(frame));
}

void by_hand(Connection& connection, Buffer& input) {
  while (input.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, input.view(sizeof length).data(), sizeof length);
    length = ntohl(length);
    if (length > kFraming.limit_bytes) return connection.close();
    const size_t frame_bytes = sizeof length + length;
    if (input.size() < frame_bytes) return;
    answer(connection, input.view(frame_bytes).substr(sizeof length));
    input.consume(frame_bytes);
  }
}

Task<> by_coroutine(Stream stream) {
  for (;;) {
    auto message = co_await stream.read(kFraming);
    if (!message || !*message) co_return;
    Buffer frame;
    kFraming.append(frame, (*message)->view());
    const auto sent = co_await stream.write(std::move(frame));
    if (!sent) co_return;
  }
}

template <class Listening>
int serve(Loop& loop, Listening& server, const char* address) {
  const auto listening = server.listen(address);
  if (!listening) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, listening.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", listening->to_string());
  std::fflush(stdout);
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view style = argc == 3 ? argv[1] : "";
  Loop loop;
  if (style == "coroutine") {
    CoServer server(loop, &by_coroutine);
    return serve(loop, server, argv[2]);
  }
  ConnectionCallbacks callbacks;
  if (style == "hand") callbacks.on_message = &by_hand;
  if (style == "messages") callbacks.on_message = messages(kFraming, &answer);
  if (!callbacks.on_message) {
    fmt::print(stderr, "usage: frames_peal hand|messages|coroutine LISTEN\n");
    return 2;
  }
  Server server(loop, std::move(callbacks));
  return serve(loop, server, argv[2]);
}
