// SPDX-License-Identifier: BSD-3-Clause
// StreamDispatcher reads the messages of a Stream and awaits, for each one, the handler coroutine of its type. The
// format is that of NamedCodec.
//
//   peal::StreamDispatcher dispatcher;
//   dispatcher.on<Query>([](peal::Stream& stream, const Query& query) -> peal::Task<> {
//     const Answer answer = co_await ask_the_database(query);
//     co_await stream.write(peal::framed(peal::NamedCodec(), answer));
//   });
//   peal::CoServer server(loop, [&](peal::Stream stream) -> peal::Task<> { co_await dispatcher.serve(stream); });
//
// The messages of a stream are handled one after the other. The next message is read when the handler has ended, so a
// peer that sends faster is slowed down. To handle several messages at once, a handler spawns tasks in a Scope and
// moves the parts of the message that they need into them.
//
// Add all handlers before the first call of serve(); the dispatcher must not change afterwards. It must outlive the
// tasks of serve(). If several loops share a dispatcher, its handlers are called on several threads at once.
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
  // Creates a dispatcher without handlers. `codec` limits the size of a message.
  explicit StreamDispatcher(const NamedCodec& codec = {});
  ~StreamDispatcher();

  // Adds the handler for messages of type T. `handler` takes (Stream&, T&) or (Stream&, const T&) and returns a Task<>.
  // The message is valid until the task ends. Throws std::invalid_argument if T has a handler already.
  template <std::derived_from<google::protobuf::Message> T, class Handler>
    requires std::invocable<const Handler&, Stream&, T&>
  void on(Handler handler) {
    static_assert(std::is_same_v<std::invoke_result_t<const Handler&, Stream&, T&>, Task<>>,
                  "a handler of a StreamDispatcher must be a coroutine that returns Task<>; for callbacks use a "
                  "MessageDispatcher");
    add(T::default_instance(), [handler = std::move(handler)](Stream& stream, google::protobuf::Message& message) {
      return handler(stream, static_cast<T&>(message));
    });
  }

  // Sets the callback for messages that cannot be read and for messages of a type without a handler. The default is
  // refuse_bad_stream_messages(). After kMessageTooLong or kMessageTooShort no further message is read. The callback
  // must not be null (asserted).
  void on_bad(StreamBadMessageCallback callback);

  // Reads and handles messages until the stream ends. Succeeds if the peer ends its side after a whole message.
  // Otherwise fails:
  //   - with the error of Stream::read(framing), for example when the connection is lost or the framing is broken;
  //   - with the Trouble of a message that cannot be read or has no handler, if the stream is closed when
  //     on_bad() has returned: on_bad() has closed it, or the connection has ended;
  //   - with ESHUTDOWN after a handler has closed the stream.
  // An exception that a handler throws is passed on to the caller.
  Task<Result<void>> serve(Stream& stream) const;

 private:
  struct Table;
  void add(const google::protobuf::Message& prototype,
           SharedCallback<Task<>(Stream&, google::protobuf::Message&)> handler);

  const std::unique_ptr<Table> table_;
};

}  // namespace peal
