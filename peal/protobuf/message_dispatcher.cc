// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/message_dispatcher.h>

#include <cstddef>
#include <deque>
#include <expected>
#include <optional>

#include <peal/base/assert.h>
#include <peal/net/connection.h>
#include <peal/protobuf/codec/message_types.h>
#include <peal/protobuf/codec/spare_message.h>

namespace peal {

// The handlers and settings of a dispatcher. The callbacks that on_message() has returned share them with the
// dispatcher.
struct MessageDispatcher::Table {
  struct Known {
    Known(const google::protobuf::Message& prototype,
          SharedCallback<void(Connection&, google::protobuf::Message&)> its_handler)
        : handler(std::move(its_handler)), spare(prototype) {}

    const SharedCallback<void(Connection&, google::protobuf::Message&)> handler;
    SpareMessage spare;
  };

  // Parses one body and calls the handler for its type. Calls on_bad if the body cannot be read or its type has no
  // handler. Body is std::string_view or Buffer.
  template <class Body>
  void handle_body(Connection& connection, Body& body) {
    BadMessage bad{.why = {}, .type_name = {}, .body_bytes = body.size()};
    const std::expected<NamedMessage, Trouble> opened = NamedCodec::open(body);
    if (!opened) {
      bad.why = opened.error();
      return on_bad(connection, bad);
    }
    bad.type_name = opened->type_name;
    const std::optional<size_t> type = types.find(opened->type_name);
    if (!type) {
      bad.why = Trouble::kUnknownMessageType;
      return on_bad(connection, bad);
    }
    Known& its = known[*type];
    const SpareMessage::Use message = its.spare.use(opened->bytes.size());
    if (!opened->bytes.parse_into(*message)) {
      bad.why = Trouble::kUnreadableMessage;
      return on_bad(connection, bad);
    }
    its.handler(connection, *message);
  }

  NamedCodec codec;
  MessageTypes types;
  std::deque<Known> known;  // by the index that `types` gave the type
  BadMessageCallback on_bad = refuse_bad_messages();
  bool complete = false;  // true after the first on_message(): nothing may be added any more
};

MessageDispatcher::MessageDispatcher(const NamedCodec& codec) : table_(std::make_shared<Table>()) {
  table_->codec = codec;
}

void MessageDispatcher::add(const google::protobuf::Message& prototype,
                            SharedCallback<void(Connection&, google::protobuf::Message&)> handler) {
  PEAL_ASSERT(!table_->complete, "on() is called after on_message(): {} handlers that are in use cannot be changed",
              table_->known.size());
  table_->types.add(prototype);
  table_->known.emplace_back(prototype, std::move(handler));
}

void MessageDispatcher::on_bad(BadMessageCallback callback) {
  PEAL_ASSERT(!table_->complete, "on_bad() is called after on_message(): {} handlers are in use", table_->known.size());
  PEAL_ASSERT(callback != nullptr,
              "no callback for bad messages: on_bad() of a MessageDispatcher with {} handlers is called with null",
              table_->known.size());
  table_->on_bad = std::move(callback);
}

SharedCallback<void(Connection&, Buffer&)> MessageDispatcher::on_message() {
  table_->complete = true;
  return [table = table_](Connection& connection, Buffer& input) {
    const auto on_body = [&](auto&& body) { table->handle_body(connection, body); };
    detail::for_each_body(table->codec, connection, input, on_body, table->on_bad);
  };
}

}  // namespace peal
