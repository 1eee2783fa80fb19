// SPDX-License-Identifier: BSD-3-Clause
// BadMessage describes a peer's message that could not be read. The callbacks of this file decide what happens to the
// connection then. The default is refuse_bad_messages().
#pragma once

#include <cstddef>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/base/result.h>

namespace peal {

class Connection;
class Stream;

struct BadMessage {
  // The reason why the message could not be read:
  //   kMessageTooLong, kMessageTooShort  The framing is broken, so no later message can be read. The connection ends
  //                                      after the callback, with CloseReason::kBadMessage whatever the callback does.
  //                                      The callback may send an answer before.
  //   kBadChecksum, kBadMessageName, kUnknownMessageType, kUnreadableMessage
  //                                      The framing is intact. The messages that follow are read, unless the callback
  //                                      ends the connection.
  Trouble why;
  // The name of the message's type as the peer sent it, which may contain any bytes. Empty if the name is not known.
  // Valid until the callback returns.
  std::string_view type_name;
  // The size of the body, as the message's length field says. 0 if `why` is kMessageTooShort. Also 0 for
  // kMessageTooLong, if a StreamDispatcher reports it or if the length is not a valid varint.
  size_t body_bytes = 0;
};

// The callbacks for messages that cannot be read. They are called on the connection's loop. If a Server has several
// loops, a callback is called on several threads at once.
using BadMessageCallback = SharedCallback<void(Connection&, const BadMessage&)>;
using StreamBadMessageCallback = SharedCallback<void(Stream&, const BadMessage&)>;

// Returns the default callback for messages of a Connection that cannot be read. The callback logs a warning and ends
// the connection as Connection::refuse() does. All connections that share the callback log at most one line a second.
BadMessageCallback refuse_bad_messages();
// Returns the default callback for messages of a Stream that cannot be read. The callback logs a warning, marks the
// connection as refused and closes the stream. All streams that share the callback log at most one line a second.
StreamBadMessageCallback refuse_bad_stream_messages();

}  // namespace peal
