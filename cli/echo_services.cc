// SPDX-License-Identifier: BSD-3-Clause
#include <cli/echo_services.h>

#include <utility>

#include <models/common/echo/echo_frame.h>

namespace peal::cli {

SharedConnectionCallbacks ping_pong() {
  return {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
}

Task<> ping_pong_task(Stream stream) {
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty()) co_return;
    const auto sent = co_await stream.write(std::move(*input));
    if (!sent) co_return;
  }
}

// Frames that came together leave together, in the blocks they came in.
SharedConnectionCallbacks framed_echo() {
  return {.on_message = [](Connection& connection, Buffer& input) {
    const EchoFrameDecoder decoder;
    Buffer frame;
    EchoFrameState state = decoder.next_frame(input, frame);
    for (; state == EchoFrameState::kWhole; state = decoder.next_frame(input, frame)) connection.send(std::move(frame));
    if (state == EchoFrameState::kTooLarge) connection.close();
  }};
}

Task<> framed_echo_task(Stream stream) {
  const EchoFrameDecoder decoder;
  for (;;) {
    auto frame = co_await stream.read_exactly(kEchoHeaderBytes);
    if (!frame || frame->empty()) co_return;
    const EchoFramePeek peek = decoder.peek(*frame);
    if (peek.state == EchoFrameState::kTooLarge) co_return;
    if (peek.body_bytes > 0) {
      auto body = co_await stream.read_exactly(peek.body_bytes);
      if (!body || body->empty()) co_return;
      frame->append(std::move(*body));
    }
    if (!co_await stream.write(std::move(*frame))) co_return;
  }
}

}  // namespace peal::cli
