// SPDX-License-Identifier: BSD-3-Clause
// read_message() reads the next message of a Stream in a coroutine. It is awaited like the stream's own reads, and its
// within() sets a timeout.
//
//   for (;;) {
//     peal::Result<std::optional<Note>> note = co_await peal::read_message<Note>(stream, codec);
//     if (!note || !*note) co_return;   // an error, or the peer has ended
//     co_await stream.write(peal::framed(codec, answer_to(**note)));
//   }
//
// The await fails if the message cannot be read. The errors are kBadChecksum, kBadMessageName, kUnknownMessageType,
// kUnreadableMessage, and those of Stream::read(framing). After an error the coroutine may still write an answer to the
// peer. When the stream is closed or destroyed, the connection ends as after Connection::refuse(). Nothing is logged.
//
// The codec and the MessageTypes are borrowed until the await ends. Call read_message() on the stream's loop.
#pragma once

#include <concepts>
#include <coroutine>
#include <expected>
#include <memory>
#include <optional>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/coro/stream.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/protobuf/codec/message_types.h>
#include <peal/protobuf/codec/named_codec.h>

namespace peal {

namespace detail {

// Function object that parses a body as a message of type T.
template <class T, class Codec>
struct DecodeAs {
  using Answer = std::optional<T>;

  std::expected<Answer, Trouble> operator()(Buffer& body) const {
    Answer message(std::in_place);
    if (const auto read = codec.read(body, *message); !read) return std::unexpected(read.error());
    return message;
  }
  const Codec& codec;
};

// Function object that parses a body as a message of the type that the body names. Fails if `types` lacks that type.
struct DecodeNamed {
  using Answer = std::unique_ptr<google::protobuf::Message>;

  std::expected<Answer, Trouble> operator()(Buffer& body) const;
  const MessageTypes& types;
};

// The awaitable that read_message() returns. It awaits the body of the next frame and calls `decode` to parse that
// body.
template <class Codec, class Decode>
class [[nodiscard]] StreamReadDecoded {
 public:
  StreamReadDecoded(Stream& stream, const Codec& codec, const Decode& decode)
      : stream_(stream), read_(stream.read(codec)), decode_(decode) {}
  StreamReadDecoded(const StreamReadDecoded&) = delete;
  StreamReadDecoded& operator=(const StreamReadDecoded&) = delete;

  bool await_ready() { return read_.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle, std::optional<Duration> timeout = {}) {
    return read_.await_suspend(handle, timeout);
  }
  Result<typename Decode::Answer> await_resume() {
    Result<std::optional<Buffer>> body = read_.await_resume();
    if (!body) return std::unexpected(body.error());
    if (!*body) return typename Decode::Answer();
    std::expected<typename Decode::Answer, Trouble> message = decode_(**body);
    if (!message) {
      stream_.mark_refused(message.error());
      return fail(message.error());
    }
    return std::move(*message);
  }
  ReadUntil<StreamReadDecoded> within(Duration timeout) && { return {*this, timeout}; }
  Wait& selectable() { return read_.selectable(); }
  void withdrawn() { read_.withdrawn(); }

 private:
  Stream& stream_;
  StreamReadFrame<Codec> read_;
  const Decode decode_;
};

}  // namespace detail

// Reads the next message as a T. co_await returns Result<std::optional<T>>. An empty optional means that the peer has
// ended its side of the connection and that no message is left. With a NamedCodec, a message of a type other than T
// fails with kUnknownMessageType.
template <std::derived_from<google::protobuf::Message> T, MessageCodec Codec>
detail::StreamReadDecoded<Codec, detail::DecodeAs<T, Codec>> read_message(Stream& stream, const Codec& codec) {
  return {stream, codec, {codec}};
}

// Reads the next message, which may have any of the types in `types`. co_await returns
// Result<std::unique_ptr<Message>>. A null pointer means that the peer has ended its side of the connection and that no
// message is left.
//   if (const auto* query = google::protobuf::DynamicCastToGenerated<Query>(message->get())) ...
inline detail::StreamReadDecoded<NamedCodec, detail::DecodeNamed> read_message(Stream& stream, const NamedCodec& codec,
                                                                               const MessageTypes& types) {
  return {stream, codec, {types}};
}

}  // namespace peal
