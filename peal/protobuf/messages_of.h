// SPDX-License-Identifier: BSD-3-Clause
// messages_of<T>() returns an on_message callback for connections whose messages all have the type T. It reads messages
// by a codec and calls a handler for each one.
//
//   constexpr peal::TaggedCodec kCodec{.tag = "NOTE"};
//   peal::Server server(loop, {.on_message = peal::messages_of<Note>(kCodec, [](auto& connection, const Note& note) {
//     connection.send(peal::framed(kCodec, answer_to(note)));
//   })});
//
// The handler takes the connection and a T&. The message is valid until the handler returns, because the next message
// is read into the same object. A handler that needs parts of the message longer moves them out.
//
// The following rules are those of messages() (peal/net/messages.h):
//   - After the handler has called close(), abort(), start_layer() or pipe(), it is not called for further messages.
//     After pause() it is not called until the connection is resumed.
//   - If the peer ends inside a message, the connection ends with CloseReason::kTruncated.
//
// A message is parsed where it was received, without a copy, even if it lies in several blocks of the input Buffer.
#pragma once

#include <concepts>
#include <cstddef>
#include <expected>
#include <memory>
#include <type_traits>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/base/assert.h>
#include <peal/base/memory/buffer.h>
#include <peal/net/connection.h>
#include <peal/net/messages.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/protobuf/codec/spare_message.h>

namespace peal {

namespace detail {

// Removes complete frames from `input` and calls `on_body` with the body of each frame, as a string_view or a Buffer&.
// Stops at an incomplete frame, or after `on_body` has paused or ended the connection. If a frame breaks the framing,
// calls `on_broken` and refuses the connection.
template <Framing Its, class OnBody, class OnBroken>
void for_each_body(const Its& framing, Connection& connection, Buffer& input, const OnBody& on_body,
                   const OnBroken& on_broken) {
  do {
    const FramePeek found = framing.peek(input);
    if (found.state != FrameState::kWhole) [[unlikely]] {
      if (found.state == FrameState::kMore) return;
      const Trouble why = trouble_of(found.state);
      connection.mark_refused(why);  // so that the CloseReason is right even if the callback ends the connection itself
      on_broken(connection, {.why = why, .type_name = {}, .body_bytes = found.body_bytes});
      return connection.refuse(why);
    }
    const size_t frame_bytes = found.frame_bytes();
    if (frame_bytes <= input.front().size()) [[likely]] {
      on_body(input.front().substr(found.header_bytes, found.body_bytes));
      input.consume(frame_bytes);
    } else {
      Buffer body;
      take_body(input, found, body);
      on_body(body);
    }
  } while (input.holds_blocks() && shows_messages(connection));
}

// Fails to compile, with an explanation, if the handler returns something other than void.
template <class Handler, class... Args>
constexpr void check_returns_void() {
  static_assert(std::is_void_v<std::invoke_result_t<const Handler&, Args...>>,
                "a handler of messages must return void: a coroutine would never be resumed here; for coroutines use a "
                "StreamDispatcher");
}

// The state of a callback that messages_of() has returned. All copies of the callback share it.
template <class T, class Codec, class Handler>
struct MessagesOf {
  // Parses one body and calls the handler. Calls on_bad if the body cannot be read. Body is std::string_view or Buffer.
  template <class Body>
  void handle_body(Connection& connection, Body& body) {
    const size_t bytes = body.size();
    const SpareMessage::Use message = spare.use(bytes);
    const std::expected<void, Trouble> read = codec.read(body, *message);
    if (!read) return on_bad(connection, {.why = read.error(), .type_name = {}, .body_bytes = bytes});
    handler(connection, static_cast<T&>(*message));
  }

  const Codec codec;
  const Handler handler;
  const BadMessageCallback on_bad;
  SpareMessage spare{T::default_instance()};
};

}  // namespace detail

// Returns a callback for on_message that parses each message as a T and calls `handler` with it. `on_bad` is called for
// messages that cannot be read; it must not be null (asserted). Both are called on the connection's loop. With
// SharedConnectionCallbacks they are called on several threads at once.
template <std::derived_from<google::protobuf::Message> T, MessageCodec Codec, class Handler>
  requires std::invocable<const Handler&, Connection&, T&>
auto messages_of(Codec codec, Handler handler, BadMessageCallback on_bad = refuse_bad_messages()) {
  detail::check_returns_void<Handler, Connection&, T&>();
  PEAL_ASSERT(on_bad != nullptr, "no callback for bad messages: on_bad of messages_of<{}>() is null",
              T::default_instance().GetTypeName());
  auto state =
      std::make_shared<detail::MessagesOf<T, Codec, Handler>>(std::move(codec), std::move(handler), std::move(on_bad));
  return [state](Connection& connection, Buffer& input) {
    const auto on_body = [&](auto&& body) { state->handle_body(connection, body); };
    detail::for_each_body(state->codec, connection, input, on_body, state->on_bad);
  };
}

}  // namespace peal
