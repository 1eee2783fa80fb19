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
  // Means kPauseInput for a Server whose ConnectionCallbacks::awaits_input is unset. Means kReadOn for every Client,
  // Stream, HttpServer and HttpClient.
  kDefault,
  // Pauses receiving when more output is queued than the high-water mark, but only if input has arrived since the last
  // such pause. Receiving resumes when the queue has drained to half of the mark. So a peer that sends requests but
  // reads no answers costs a bounded amount of memory. If the peer pauses in the same way, both sides may be paused at
  // once. Then neither side reads, so neither queue drains, until write_window ends the connection.
  kPauseInput,
  // Never pauses receiving. If the peer does not read, the output that on_message sends may grow up to
  // output_limit_bytes.
  kReadOn,
};

struct ConnectionOptions {
  // The high-water mark: while more output than this is queued, send() returns false.
  uint32_t high_water_bytes = 256 * 1024;

  WhenOutputIsFull when_output_is_full = WhenOutputIsFull::kDefault;
  // A connection with more queued output than this is reset with CloseReason::kOutputLimit. The limit counts memory,
  // which is at most four times the size of the output itself (Buffer::held_bytes).
  size_t output_limit_bytes = 64 * 1024 * 1024;
  // If on_message leaves more input than this unconsumed, the connection is reset with CloseReason::kInputLimit: its
  // message never becomes complete. The limit counts the bytes of input, which may occupy four times as much memory.
  // The connection is not reset if on_message has called pause(), or if the protocol is busy and does not wait for
  // input, like a coroutine between two reads. In these cases, receiving pauses instead.
  size_t input_limit_bytes = 16 * 1024 * 1024;
  // How long a graceful end waits for the peer's FIN after the peer has acknowledged all output.
  Duration linger_timeout = std::chrono::seconds(5);
  // A connection is closed with kIdle if for this long no bytes arrived, no bytes were passed to send(), and no queued
  // output was sent. 0 (the default) means never: only the protocol knows how long a client may be silent.
  Duration idle_timeout = {};
  // The peer must send at least min_read_bytes in each read_window, or the connection is reset with kReadTooSlow. The
  // rule is enforced:
  // - while on_message leaves input unconsumed,
  // - while expect_input() is on,
  // - while a layer holds an incomplete record, during its handshake too.
  //
  // Bytes are counted as they arrive, before a layer decodes them. Time in which receiving is paused, by pause() or
  // because too much output is queued, does not count. min_read_bytes = 0 (the default) disables the rule.
  uint32_t min_read_bytes = 0;
  Duration read_window = std::chrono::seconds(10);
  // While output is queued, the peer must take at least min_write_bytes in each write_window. Otherwise the connection
  // is reset with kWriteTooSlow, or with kNeitherRead if this side was not reading either. If a peer stops reading, the
  // reset comes one to two windows later, even if the peer's kernel still answers.
  //
  // The check starts when the queue reaches the high-water mark. If idle_timeout, min_read_bytes or
  // ServerOptions::max_connections is set, the check starts with the first queued byte. The check ends when the queue
  // is empty. In a graceful end, the check lasts until the peer has acknowledged everything, with a min_write_bytes of
  // at least 1. min_write_bytes = 0 disables the check while the connection is open. With the default of 1, only a peer
  // that takes nothing at all is reset.
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
  // a connection counts towards the server's limits, may be evicted, and is waited for by a drain. The first handshake
  // of a Client's connection is limited by ClientOptions::connect_timeout instead. A value of 0 leaves no time for a
  // handshake.
  Duration handshake_timeout = std::chrono::seconds(10);
  // If true, peer_address() works after a reset and in on_close too. Storing the address costs 130 bytes for each
  // connection.
  bool remember_peer = false;
};

}  // namespace peal
