// SPDX-License-Identifier: BSD-3-Clause
// MessageDispatcher reads the messages of a connection and calls, for each one, the handler of its type. The format is
// that of NamedCodec.
//
//   peal::MessageDispatcher dispatcher;
//   dispatcher.on<Query>([](peal::Connection& connection, const Query& query) {
//     connection.send(peal::framed(peal::NamedCodec(), answer_to(query)));
//   });
//   dispatcher.on<Bye>([](peal::Connection& connection, const Bye&) { connection.close(); });
//   peal::Server server(loop, {.on_message = dispatcher.on_message()});
//
// The rules for a handler are those of messages_of() (messages_of.h), which serves connections whose messages all have
// one type. If the handlers are coroutines, use a StreamDispatcher instead.
//
// First add all handlers. Then call on_message() and give its result to any number of servers and clients. No handler
// can be added after that. The callbacks share ownership of the handlers, so the MessageDispatcher itself may be
// destroyed earlier. If several loops share a dispatcher, its handlers are called on several threads at once.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/named_codec.h>
#include <peal/protobuf/messages_of.h>

namespace peal {

class MessageDispatcher {
 public:
  // Creates a dispatcher without handlers. `codec` limits the size of a message.
  explicit MessageDispatcher(const NamedCodec& codec = {});

  // Adds the handler for messages of type T. `handler` takes (Connection&, T&) or (Connection&, const T&) and returns
  // void. The message is valid until the handler returns. Throws std::invalid_argument if T has a handler already.
  template <std::derived_from<google::protobuf::Message> T, class Handler>
    requires std::invocable<const Handler&, Connection&, T&>
  void on(Handler handler) {
    detail::check_returns_void<Handler, Connection&, T&>();
    add(T::default_instance(),
        [handler = std::move(handler)](Connection& connection, google::protobuf::Message& message) {
          handler(connection, static_cast<T&>(message));
        });
  }

  // Sets the callback for messages that cannot be read and for messages of a type without a handler. The default is
  // refuse_bad_messages(). The callback must not be null (asserted).
  void on_bad(BadMessageCallback callback);

  // Returns the callback that the application sets as on_message of ConnectionCallbacks or SharedConnectionCallbacks.
  // After the first call of this function, on() and on_bad() must not be called any more (asserted).
  SharedCallback<void(Connection&, Buffer&)> on_message();

 private:
  struct Table;
  void add(const google::protobuf::Message& prototype,
           SharedCallback<void(Connection&, google::protobuf::Message&)> handler);

  std::shared_ptr<Table> table_;
};

}  // namespace peal
