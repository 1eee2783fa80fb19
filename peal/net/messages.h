// SPDX-License-Identifier: BSD-3-Clause
// messages(): makes an on_message from a framing and a handler. The handler is called once for each whole message.
//
//   constexpr peal::LengthFraming kFraming{.limit_bytes = 64 * 1024};
//   peal::Server server(loop, {.on_message = peal::messages(kFraming, [](auto& connection, std::string_view body) {
//     answer(connection, body);
//   })});
//
// The handler takes the body in one of two ways:
//   std::string_view  a view of the body, valid until the handler returns. The bytes are copied only if the message
//                     lies in several blocks.
//   Buffer&&          the body itself, in the blocks it arrived in, to be kept or sent on without a copy.
//
// The handler is not called for further messages after it has called pause(), close(), abort(), start_layer() or
// pipe(). After resume() it is called again; start_layer() and pipe() take the unread bytes over.
//
// A message that breaks the framing ends the connection with CloseReason::kBadMessage and Trouble::kMessageTooLong or
// kMessageTooShort: see Connection::refuse(). on_bad(connection, trouble), if there is one, is called before the end:
// it may send an answer that tells the peer. A peer that ends inside a message ends it with CloseReason::kTruncated,
// unless on_peer_end is set. ConnectionOptions::input_limit_bytes also limits an incomplete message: set it above the
// framing's limit_bytes.
#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/net/connection.h>
#include <peal/wire/framing/frame.h>

namespace peal {

template <class T>
concept TakesMessageView = std::invocable<const T&, Connection&, std::string_view>;
template <class T>
concept TakesMessageBuffer = std::invocable<const T&, Connection&, Buffer&&>;

namespace detail {

// The default `on_bad` of messages(). It sends no answer to the peer.
struct SendsNothing {
  void operator()(Connection&, Trouble) const {}
};

// Returns whether messages() may call the handler for the next message. False if the handler has, for example, paused
// or ended the connection.
inline bool shows_messages(const Connection& connection) {
  return connection.life() == ConnectionLife::kOpen || connection.life() == ConnectionLife::kReadingOut;
}

template <class Handler>
void show_message(const Handler& handler, Connection& connection, Buffer& input, const FramePeek& found) {
  if constexpr (TakesMessageView<Handler>) {
    const size_t frame_bytes = found.frame_bytes();
    std::string_view frame = input.front();
    if (frame.size() < frame_bytes) [[unlikely]]
      frame = input.view(frame_bytes);
    handler(connection, std::string_view(frame.data() + found.header_bytes, found.body_bytes));
    input.consume(frame_bytes);
  } else {
    Buffer body;
    take_body(input, found, body);
    handler(connection, std::move(body));
  }
}

}  // namespace detail

// Makes an on_message callback from `framing` and `handler`. `handler` and `on_bad` are called on the connection's
// loop; with SharedConnectionCallbacks they are called on several loops at once.
template <Framing Its, class Handler, class OnBad = detail::SendsNothing>
  requires(TakesMessageView<Handler> || TakesMessageBuffer<Handler>) &&
          std::invocable<const OnBad&, Connection&, Trouble>
auto messages(Its framing, Handler handler, OnBad on_bad = {}) {
  return [framing = std::move(framing), handler = std::move(handler), on_bad = std::move(on_bad)](
             Connection& connection, Buffer& input) {
    do {
      const FramePeek found = framing.peek(input);
      if (found.state != FrameState::kWhole) [[unlikely]] {
        if (found.state == FrameState::kMore) return;
        connection.mark_refused(trouble_of(found.state));
        on_bad(connection, trouble_of(found.state));
        return connection.refuse(trouble_of(found.state));
      }
      detail::show_message(handler, connection, input, found);
    } while (input.holds_blocks() && detail::shows_messages(connection));
  };
}

}  // namespace peal
