// SPDX-License-Identifier: BSD-3-Clause
// MessageDispatcher: calls, for each message of a connection, the handler of its type. The format is NamedCodec's.
//
//   peal::MessageDispatcher dispatcher;
//   dispatcher.on<Query>([](peal::Connection& connection, const Query& query) {
//     connection.send(peal::framed(peal::NamedCodec(), answer_to(query)));
//   });
//   dispatcher.on<Bye>([](peal::Connection& connection, const Bye&) { connection.close(); });
//   peal::Server server(loop, {.on_message = dispatcher.on_message()});
//
// The rules for a handler are those of messages_of() (messages_of.h), which is for connections whose messages
// all have one type. Handlers that are coroutines are a StreamDispatcher's.
//
// Give it its handlers first, then take on_message(), for any number of servers and clients: from then on it does not
// change, and lives as long as any of them. One that is shared by several loops calls its handlers on several threads
// at once.
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
  explicit MessageDispatcher(const NamedCodec& codec = {});

  // `handler` takes (Connection&, T&) or (Connection&, const T&). A second one of a type throws std::invalid_argument.
  template <std::derived_from<google::protobuf::Message> T, class Handler>
    requires std::invocable<const Handler&, Connection&, T&>
  void on(Handler handler) {
    detail::check_answers_nothing<Handler, Connection&, T&>();
    add(T::default_instance(),
        [handler = std::move(handler)](Connection& connection, google::protobuf::Message& message) {
          handler(connection, static_cast<T&>(message));
        });
  }
  // Called for what cannot be read, and for messages of other types, in the place of refuse_bad_messages(). Not null
  // (asserted).
  void on_bad(BadMessageCallback callback);

  // For ConnectionCallbacks and SharedConnectionCallbacks. After the first call on() and on_bad() assert.
  SharedCallback<void(Connection&, Buffer&)> on_message();

 private:
  struct Table;
  void add(const google::protobuf::Message& prototype,
           SharedCallback<void(Connection&, google::protobuf::Message&)> handler);

  std::shared_ptr<Table> table_;
};

}  // namespace peal
