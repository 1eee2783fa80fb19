// SPDX-License-Identifier: BSD-3-Clause
// ConnectionOptions: the limits and deadlines of each connection of a server or client. Each option has a default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/engine/stream_port.h>

namespace peal {

// Decides whether receiving pauses while more output is queued than the high-water mark.
enum class WhenOutputIsFull : uint8_t {
  // Means kPauseInput for the connections of a Server without `awaits_input`. Means kReadOn for all connections of a
  // Client, and for those of a Stream, an HttpServer and an HttpClient.
  kDefault,
  // Pauses receiving when callbacks have queued output above the high-water mark after new input. Receiving resumes
  // when the queue has drained to half of the mark. So a peer that sends requests but reads no answers costs a bounded
  // amount of memory. If both sides pause and their callbacks only send, each side waits for the other until
  // write_window ends one of them.
  kPauseInput,
  // Never pauses receiving. If the peer does not read, the output that on_message sends may grow up to
  // output_limit_bytes.
  kReadOn,
};

struct ConnectionOptions {
  // The high-water mark: while more output is queued, send() returns false.
  uint32_t high_water_bytes = 256 * 1024;

  WhenOutputIsFull when_output_is_full = WhenOutputIsFull::kDefault;
  // A connection with more queued output than this is reset with CloseReason::kOutputLimit. The limit counts memory,
  // which is at most four times the size of the output itself (Buffer::held_bytes).
  size_t output_limit_bytes = 64 * 1024 * 1024;
  // If on_message leaves more input than this unconsumed, the connection is reset with CloseReason::kInputLimit: its
  // message never becomes complete. The limit counts the bytes of input, which may occupy four times as much memory.
  // There is no reset in two cases, because receiving stops until the input is wanted: on_message called pause(), or a
  // coroutine works and does not read.
  size_t input_limit_bytes = 16 * 1024 * 1024;
  // How long a graceful end waits for the peer's FIN after the peer has acknowledged all output.
  Duration linger_timeout = std::chrono::seconds(5);
  // A connection is closed with kIdle if for this long no bytes arrived, none were passed to send(), and no queued
  // output was sent. 0 (the default) means never: only the protocol knows how long a client may be silent.
  Duration idle_timeout = {};
  // The peer must send at least min_read_bytes in each read_window, or the connection is reset with kReadTooSlow. This
  // is enforced:
  // - while on_message leaves input unconsumed,
  // - while expect_input() is on,
  // - while a layer holds an incomplete record, during its handshake too.
  //
  // Bytes are counted as they arrive, before a layer decodes them. Time in which the connection does not receive does
  // not count (after pause(), or while too much output is queued). min_read_bytes = 0 (the default) disables this.
  uint32_t min_read_bytes = 0;
  Duration read_window = std::chrono::seconds(10);
  // While output is queued, the peer must take at least min_write_bytes in each write_window. Otherwise the connection
  // is reset with kWriteTooSlow, or with kNeitherRead if this side was not reading either. A peer that does not read is
  // reset even if its kernel still answers, one to two windows after it stopped.
  //
  // The check starts when the queue reaches the high-water mark. If idle_timeout, min_read_bytes or
  // ServerOptions::max_connections is set, it starts with the first queued byte. It lasts until the queue is empty. In
  // a graceful end it lasts until the peer has acknowledged everything, and then min_write_bytes counts as at least 1.
  // 0 disables the check; the default resets only a peer that takes nothing at all.
  uint32_t min_write_bytes = 1;
  Duration write_window = std::chrono::seconds(60);
  // The layer that connections use, for example TLS. It must outlive the server or client. Null (the default) means
  // that connections are plain streams of the kernel.
  const StreamLayer* layer = nullptr;
  // If true, connections are plain until Connection::start_layer() is called, as SMTP does with STARTTLS.
  bool layer_later = false;
  // A text for an accepted client that speaks in the clear although `layer` expects a handshake. The text is sent
  // before the connection ends, and must exist as long as the program runs. Empty means that nothing is sent.
  std::string_view clear_answer = {};
  // Limits the handshake of `layer` with an accepted client, and the handshake of start_layer(). During its handshake,
  // a connection counts towards the server's limits, may be evicted, and is waited for by a drain. When a client
  // connects, connect_timeout limits the handshake instead. 0 leaves no time at all.
  Duration handshake_timeout = std::chrono::seconds(10);
  // If true, peer_address() works after a reset and in on_close too. That costs 130 bytes for each connection.
  bool remember_peer = false;
};

}  // namespace peal
