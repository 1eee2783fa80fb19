// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/stream_dispatcher.h>

#include <cstddef>
#include <deque>
#include <expected>
#include <optional>

#include <peal/base/assert.h>
#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/message_types.h>
#include <peal/protobuf/codec/spare_message.h>

namespace peal {
namespace {

// If `error` says that the stream's framing is broken, returns the Trouble of that error. Otherwise returns nullopt.
std::optional<Trouble> broken_framing(std::error_code error) {
  for (const Trouble why : {Trouble::kMessageTooLong, Trouble::kMessageTooShort}) {
    if (error == make_error_code(why)) return why;
  }
  return std::nullopt;
}

}  // namespace

struct StreamDispatcher::Table {
  struct Known {
    Known(const google::protobuf::Message& prototype,
          SharedCallback<Task<>(Stream&, google::protobuf::Message&)> its_handler)
        : handler(std::move(its_handler)), spare(prototype) {}

    const SharedCallback<Task<>(Stream&, google::protobuf::Message&)> handler;
    SpareMessage spare;
  };

  NamedCodec codec;
  MessageTypes types;
  std::deque<Known> known;  // by the index that `types` gave the type
  StreamBadMessageCallback on_bad = refuse_bad_stream_messages();
};

StreamDispatcher::StreamDispatcher(const NamedCodec& codec) : table_(std::make_unique<Table>()) {
  table_->codec = codec;
}

StreamDispatcher::~StreamDispatcher() = default;

void StreamDispatcher::add(const google::protobuf::Message& prototype,
                           SharedCallback<Task<>(Stream&, google::protobuf::Message&)> handler) {
  table_->types.add(prototype);
  table_->known.emplace_back(prototype, std::move(handler));
}

void StreamDispatcher::on_bad(StreamBadMessageCallback callback) {
  PEAL_ASSERT(callback != nullptr,
              "no callback for bad messages: on_bad() of a StreamDispatcher with {} handlers is called with null",
              table_->known.size());
  table_->on_bad = std::move(callback);
}

Task<Result<void>> StreamDispatcher::serve(Stream& stream) const {
  Table& table = *table_;
  for (;;) {
    Result<std::optional<Buffer>> body = co_await stream.read(table.codec);
    if (!body) {
      if (const auto why = broken_framing(body.error())) table.on_bad(stream, {.why = *why, .type_name = {}});
      co_return std::unexpected(body.error());
    }
    if (!*body) co_return Result<void>();
    BadMessage bad{.why = {}, .type_name = {}, .body_bytes = (*body)->size()};
    const std::expected<NamedMessage, Trouble> opened = NamedCodec::open(**body);
    if (opened) {
      bad.type_name = opened->type_name;
      bad.why = Trouble::kUnknownMessageType;
      if (const std::optional<size_t> type = table.types.find(opened->type_name)) {
        Table::Known& its = table.known[*type];
        const SpareMessage::Use message = its.spare.use(opened->bytes.size());
        if (opened->bytes.parse_into(*message)) {
          // The memory of the body is freed before the handler is called, because the handler may take long. `opened`
          // must not be used after that.
          body->reset();
          co_await its.handler(stream, *message);
          continue;
        }
        bad.why = Trouble::kUnreadableMessage;
      }
    } else {
      bad.why = opened.error();
    }
    table.on_bad(stream, bad);
    if (!stream.is_open()) co_return fail(bad.why);
  }
}

}  // namespace peal
