// SPDX-License-Identifier: BSD-3-Clause
// calls_peal function|coroutine|floor LISTEN: a server of muduo's RPC. Its method Echo answers with the payload of the
// request; the handler is a function or a coroutine. The style "floor" does without protobuf, services and limits: it
// checks the request's checksum, copies the payload into an answer and computes the answer's checksum. `versus bench
// --only calls` counts the instructions per call.
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <peal/wire/framing/integer_bytes.h>
#include <peal/wire/framing/length_framing.h>
#include <versus/contenders/calls/echo_call.pb.h>

using namespace peal;

namespace {

// Layout of a request that versus/bars/calls.py sends. Byte 0 is the first byte after the request's length prefix.
// - The call's id has 8 bytes and begins at byte 7.
// - The payload has 6 bytes and ends where the checksum begins.
// - The checksum is the last 4 bytes.
constexpr size_t kIdAt = 7;
constexpr size_t kPayloadBytes = 6;
constexpr size_t kSumBytes = 4;
constexpr std::string_view kAnswerHead("RPC0\x08\x02\x11", 7);

void answer_by_hand(Connection& connection, std::string_view body) {
  const std::string_view counted = body.substr(0, body.size() - kSumBytes);
  if (adler32_of(counted) != peek_integer<kSumBytes>(body.substr(counted.size())))
    return connection.refuse(Trouble::kBadChecksum);
  std::array<char, 64> answer;
  char* end = answer.data();
  const auto put = [&end](std::string_view bytes) {
    std::memcpy(end, bytes.data(), bytes.size());
    end += bytes.size();
  };
  put(kAnswerHead);
  put(counted.substr(kIdAt, sizeof(uint64_t)));
  put({"\x32\x08\x12\x06", 4});
  put(counted.substr(counted.size() - kPayloadBytes));
  const std::string_view summed(answer.data(), static_cast<size_t>(end - answer.data()));
  Buffer frame;
  append_integer<4>(frame, summed.size() + kSumBytes);
  frame.append(summed);
  append_integer<kSumBytes>(frame, adler32_of(summed));
  connection.send(std::move(frame));
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
  if (style == "floor") {
    constexpr LengthFraming kFraming{.limit_bytes = 64 * 1024};
    Server server(loop, {.on_message = messages(kFraming, &answer_by_hand)});
    return serve(loop, server, argv[2]);
  }
  RpcServer server(loop);
  if (style == "function") {
    server.handle(&echo::EchoService::Echo,
                  [](RpcCall&, const echo::EchoRequest& request, echo::EchoResponse& response) {
                    response.set_payload(request.payload());
                  });
  } else if (style == "coroutine") {
    server.handle(&echo::EchoService::Echo,
                  [](RpcCall&, const echo::EchoRequest& request, echo::EchoResponse& response) -> Task<> {
                    response.set_payload(request.payload());
                    co_return;
                  });
  } else {
    fmt::print(stderr, "usage: calls_peal function|coroutine|floor LISTEN\n");
    return 2;
  }
  return serve(loop, server, argv[2]);
}
