// SPDX-License-Identifier: BSD-3-Clause
// ConnectionOptions: the limits and deadlines of each connection of a server or client. Each option has a default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/engine/stream_port.h>

namespace peal {

// Decides whether output above the high-water mark pauses receiving.
enum class WhenOutputIsFull : uint8_t {
  // Means kPauseInput for a Server with an on_message callback. Means kReadOn for a Client, a Stream, an HttpServer and
  // an HttpClient, since these read only when they want input.
  kDefault,
  // Pauses receiving when output above the mark has followed new input; resumes when the queue has drained to half of
  // the mark. So a peer that sends requests and reads no answers costs a bounded amount of memory. If both sides pause
  // and their callbacks only send, each waits for the other until write_window ends one of them.
  kPauseInput,
  // Never pauses receiving. If the peer does not read, what on_message sends may pile up to output_limit_bytes.
  kReadOn,
};

struct ConnectionOptions {
  // The high-water mark: while more output is queued, send() returns false.
  uint32_t high_water_bytes = 256 * 1024;

  WhenOutputIsFull when_output_is_full = WhenOutputIsFull::kDefault;
  // A connection with more queued output is reset: CloseReason::kOutputLimit. The memory is counted, which is at most
  // four times the content (Buffer::held_bytes).
  size_t output_limit_bytes = 64 * 1024 * 1024;
  // A connection is reset with CloseReason::kInputLimit if on_message leaves more input unconsumed: its message never
  // becomes complete. The content is counted; it may hold four times as much memory. Two cases do not count, because
  // receiving stops until the input is wanted: on_message called pause(), or a coroutine works and does not read.
  size_t input_limit_bytes = 16 * 1024 * 1024;
  // A graceful end waits this long for the peer's FIN after the peer has acknowledged all output.
  Duration linger_timeout = std::chrono::seconds(5);
  // Closes a connection with kIdle if for that long nothing arrived, nothing was given to send() and no queued output
  // left. 0 (the default) means never: only the protocol knows how long a client may be silent.
  Duration idle_timeout = {};
  // The peer must send at least min_read_bytes in each read_window, or the connection is reset with kReadTooSlow. This
  // is enforced:
  // - while on_message leaves input unconsumed,
  // - while expect_input() is on,
  // - while a layer holds an incomplete record, during its handshake too.
  //
  // Counted are the bytes that arrive, before a layer decodes them. Time in which the connection does not receive
  // (pause() or full output) does not count. min_read_bytes = 0 (the default) disables this.
  uint32_t min_read_bytes = 0;
  Duration read_window = std::chrono::seconds(10);
  // While output is queued, the peer must take at least min_write_bytes in each write_window. Otherwise the connection
  // is reset with kWriteTooSlow, or with kNeitherRead if this side was not reading either. It does not help the peer
  // that its kernel still answers.
  //
  // A peer that stops reading is cut off one to two windows later. The check starts at the high-water mark, or with the
  // first queued byte if one of the deadlines above is set, and lasts until the queue is empty. In a graceful end it
  // lasts until the peer has acknowledged everything, and then min_write_bytes counts as at least 1. 0 disables the
  // check; the default cuts off only a peer that takes nothing at all.
  uint32_t min_write_bytes = 1;
  Duration write_window = std::chrono::seconds(60);
  // The layer that connections run over, for example TLS. It must outlive the server or client. Null (the default)
  // means that connections are plain streams of the kernel.
  const StreamLayer* layer = nullptr;
  // If true, connections are plain until Connection::start_layer() is called, as SMTP does with STARTTLS.
  bool layer_later = false;
  // Sent before the end to a client that was accepted and speaks in the clear although `layer` expects a handshake. The
  // text must live as long as the program. Empty means that nothing is sent.
  std::string_view clear_answer = {};
  // Limits the handshake of `layer` with an accepted client, and the one after start_layer(). Until it is over the
  // connection counts in the caps, may be evicted, and is waited for by a drain. A client's handshake on connecting is
  // limited by connect_timeout instead. 0 leaves no time at all.
  Duration handshake_timeout = std::chrono::seconds(10);
  // If true, peer_address() works after a reset and in on_close too. Costs 130 bytes for each connection.
  bool remember_peer = false;
};

}  // namespace peal
