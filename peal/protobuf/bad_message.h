// SPDX-License-Identifier: BSD-3-Clause
// BadMessage: a peer's message that could not be read, and what is done about it.
#pragma once

#include <cstddef>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/base/result.h>

namespace peal {

class Connection;
class Stream;

struct BadMessage {
  // kMessageTooLong, kMessageTooShort: nothing that follows can be read, so the connection ends after the callback.
  // The callback may send an answer, to tell the peer. The CloseReason is kBadMessage whatever the callback does.
  // kBadChecksum, kBadMessageName, kUnknownMessageType, kUnreadableMessage: the messages that follow can be read, and
  // are, unless the callback ends the connection.
  Trouble why;
  // Empty if it is not known. A peer's: any bytes. Valid until the callback returns.
  std::string_view type_name;
  // The size of the body, as its length says. 0 with kMessageTooShort, and with kMessageTooLong if a StreamDispatcher
  // tells it or the length is no varint.
  size_t body_bytes = 0;
};

// Called on the connection's loop; where a Server has several, on several threads at once.
using BadMessageCallback = SharedCallback<void(Connection&, const BadMessage&)>;
using StreamBadMessageCallback = SharedCallback<void(Stream&, const BadMessage&)>;

// The callback that is used unless another is given. It ends the connection as Connection::refuse() does, and logs a
// line, at most one a second for all connections that share the callback.
BadMessageCallback refuse_bad_messages();
StreamBadMessageCallback refuse_bad_stream_messages();

}  // namespace peal
