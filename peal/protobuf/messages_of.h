// SPDX-License-Identifier: BSD-3-Clause
// messages_of<T>(): makes an on_message from a codec and a handler of messages of one type.
//
//   constexpr peal::TaggedCodec kCodec{.tag = "NOTE"};
//   peal::Server server(loop, {.on_message = peal::messages_of<Note>(kCodec, [](auto& connection, const Note& note) {
//     connection.send(peal::framed(kCodec, answer_to(note)));
//   })});
//
// The handler takes the connection and a T&, which is valid until it returns; what it needs longer it moves out. The
// message lies in an object that the next one is read into. As with messages() (peal/net/messages.h), the handler is
// not called for further messages after it has called pause(), close(), abort(), start_layer() or pipe(), and a peer
// that ends inside a message ends the connection with CloseReason::kTruncated.
//
// A message in one block is parsed where it lies; the blocks of a longer one are not joined.
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

// Calls `show` with the body of each whole frame, a string_view or a Buffer&, as long as messages are to be shown. If
// a frame breaks the framing, calls `broken` and refuses the connection.
template <Framing Its, class Show, class Broken>
void show_bodies(const Its& framing, Connection& connection, Buffer& input, const Show& show, const Broken& broken) {
  do {
    const FramePeek found = framing.peek(input);
    if (found.state != FrameState::kWhole) [[unlikely]] {
      if (found.state == FrameState::kMore) return;
      const Trouble why = trouble_of(found.state);
      connection.mark_refused(why);  // the CloseReason says so even if the callback ends the connection itself
      broken(connection, {.why = why, .type_name = {}, .body_bytes = found.body_bytes});
      return connection.refuse(why);
    }
    const size_t frame_bytes = found.frame_bytes();
    if (frame_bytes <= input.front().size()) [[likely]] {
      show(input.front().substr(found.header_bytes, found.body_bytes));
      input.consume(frame_bytes);
    } else {
      Buffer body;
      take_body(input, found, body);
      show(body);
    }
  } while (input.holds_blocks() && shows_messages(connection));
}

// Handlers that answer something do not compile, with a sentence.
template <class Handler, class... Args>
constexpr void check_answers_nothing() {
  static_assert(std::is_void_v<std::invoke_result_t<const Handler&, Args...>>,
                "a handler of messages returns nothing: a coroutine in its place would never run; a StreamDispatcher "
                "takes coroutines");
}

template <class T, class Codec, class Handler>
struct MessagesOf {
  // `body`: a std::string_view or a Buffer.
  template <class Body>
  void show(Connection& connection, Body& body) {
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

// `handler` is called on the connection's loop; with SharedConnectionCallbacks on several loops at once. `on_bad` is
// not null (asserted).
template <std::derived_from<google::protobuf::Message> T, MessageCodec Codec, class Handler>
  requires std::invocable<const Handler&, Connection&, T&>
auto messages_of(Codec codec, Handler handler, BadMessageCallback on_bad = refuse_bad_messages()) {
  detail::check_answers_nothing<Handler, Connection&, T&>();
  PEAL_ASSERT(on_bad != nullptr, "no callback for bad messages of the type {}", T::default_instance().GetTypeName());
  auto state =
      std::make_shared<detail::MessagesOf<T, Codec, Handler>>(std::move(codec), std::move(handler), std::move(on_bad));
  return [state](Connection& connection, Buffer& input) {
    const auto show = [&](auto&& body) { state->show(connection, body); };
    detail::show_bodies(state->codec, connection, input, show, state->on_bad);
  };
}

}  // namespace peal
