// SPDX-License-Identifier: BSD-3-Clause
// StreamDispatcher: awaits, for each message of a Stream, the coroutine of its type. The format is NamedCodec's.
//
//   peal::StreamDispatcher dispatcher;
//   dispatcher.on<Query>([](peal::Stream& stream, const Query& query) -> peal::Task<> {
//     const Answer answer = co_await ask_the_database(query);
//     co_await stream.write(peal::framed(peal::NamedCodec(), answer));
//   });
//   peal::CoServer server(loop, [&](peal::Stream stream) -> peal::Task<> { co_await dispatcher.serve(stream); });
//
// The messages of a stream are handled one after the other: the next one is read when the coroutine has ended, so a
// peer that sends faster is slowed down. To handle several at once, spawn tasks in a Scope, with what they need of the
// message moved into them.
//
// Give it its handlers first; while it serves it does not change. It outlives the tasks that it serves. One that is
// shared by several loops calls its handlers on several threads at once.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/coro/stream.h>
#include <peal/coro/task.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/named_codec.h>

namespace peal {

class StreamDispatcher {
 public:
  explicit StreamDispatcher(const NamedCodec& codec = {});
  ~StreamDispatcher();

  // `handler` takes (Stream&, T&) or (Stream&, const T&) and returns a Task<>. The message is valid until that ends. A
  // second one of a type throws std::invalid_argument.
  template <std::derived_from<google::protobuf::Message> T, class Handler>
    requires std::invocable<const Handler&, Stream&, T&>
  void on(Handler handler) {
    static_assert(std::is_same_v<std::invoke_result_t<const Handler&, Stream&, T&>, Task<>>,
                  "a StreamDispatcher takes coroutines, which return Task<>; a MessageDispatcher takes callbacks");
    add(T::default_instance(), [handler = std::move(handler)](Stream& stream, google::protobuf::Message& message) {
      return handler(stream, static_cast<T&>(message));
    });
  }
  // Called for what cannot be read, and for messages of other types, in the place of refuse_bad_stream_messages().
  // After kMessageTooLong or kMessageTooShort nothing more is read. Not null (asserted).
  void on_bad(StreamBadMessageCallback callback);

  // Handles messages until there is none. Done when the peer has ended between two messages; otherwise it fails as
  // Stream::read(framing) does. It also fails, with the Trouble of a message that cannot be read, if the stream is not
  // open after the callback: the callback has closed it, or the connection is gone and what followed is not read. A
  // handler that closes the stream ends it with ESHUTDOWN. Exceptions of handlers leave it.
  Task<Result<void>> serve(Stream& stream) const;

 private:
  struct Table;
  void add(const google::protobuf::Message& prototype,
           SharedCallback<Task<>(Stream&, google::protobuf::Message&)> handler);

  const std::unique_ptr<Table> table_;
};

}  // namespace peal
