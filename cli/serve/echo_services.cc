// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/echo_services.h>

#include <utility>

#include <peal/wire/framing/length_framing.h>

namespace peal::cli {
namespace {

constexpr LengthFraming kFraming{.limit_bytes = 1024 * 1024};

}  // namespace

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

// Sends each frame back in the memory blocks in which it arrived, so nothing is copied. Frames that arrive together are
// sent back together.
SharedConnectionCallbacks framed_echo() {
  return {.on_message = [](Connection& connection, Buffer& input) {
    Buffer frame;
    FrameState state = FrameState::kMore;
    while ((state = kFraming.next_frame(input, frame)) == FrameState::kWhole) connection.send(std::move(frame));
    if (state != FrameState::kMore) connection.refuse(trouble_of(state));
  }};
}

Task<> framed_echo_task(Stream stream) {
  for (;;) {
    auto body = co_await stream.read(kFraming);
    if (!body || !*body) co_return;
    Buffer frame;
    kFraming.append(frame, std::move(**body));
    const auto sent = co_await stream.write(std::move(frame));
    if (!sent) co_return;
  }
}

}  // namespace peal::cli
