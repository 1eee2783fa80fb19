// SPDX-License-Identifier: BSD-3-Clause
// ConnectionOptions: the limits and deadlines of each connection of a server or client. Every one has a default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/engine/stream_port.h>

namespace peal {

// Whether output above the high-water mark pauses receiving.
enum class WhenOutputIsFull : uint8_t {
  // kPauseInput for a Server's callbacks. kReadOn for a Client, a Stream, HttpServer and HttpClient, which ask for
  // input when they want it.
  kDefault,
  // Receiving pauses once output has followed the input that came since the last such pause, and resumes when the queue
  // has drained to half of the mark. A peer that sends requests and reads no answers costs no more memory then. Two
  // sides that both pause, and whose callbacks only send, wait for each other until write_window ends one of them.
  kPauseInput,
  // Receiving goes on. What on_message sends may then pile up to output_limit_bytes if the peer does not read.
  kReadOn,
};

struct ConnectionOptions {
  // Output queued above it makes send() answer false.
  uint32_t high_water_bytes = 256 * 1024;
  WhenOutputIsFull when_output_is_full = WhenOutputIsFull::kDefault;
  // A peer that does not read is cut off here. Memory counts: at most four times the content (Buffer::held_bytes).
  size_t output_limit_bytes = 64 * 1024 * 1024;
  // A peer whose message never becomes complete is cut off here. Content counts, and may hold four times as much. What
  // a callback that pauses leaves does not: no more comes then. Nor is a peer cut off while a coroutine works and does
  // not read: the connection is not received from until it does.
  size_t input_limit_bytes = 16 * 1024 * 1024;
  // How long a graceful end waits for the peer's FIN when the peer has acknowledged all that was sent.
  Duration linger_timeout = std::chrono::seconds(5);
  // Nothing arrived, nothing was given to send() and no queued output left for that long: kIdle. 0, the default: never,
  // since only the protocol knows how long a client may be silent.
  Duration idle_timeout = {};
  // While the callback leaves input unconsumed, or after expect_input(), each read_window must bring min_read_bytes, or
  // the peer is cut off: kReadTooSlow. So it must while a layer has half a record, in its handshake too; what counts is
  // what arrives, not what the layer makes of it. Time in which nothing is received, by pause() or for backpressure,
  // does not count. 0, the default: any rate will do.
  uint32_t min_read_bytes = 0;
  Duration read_window = std::chrono::seconds(10);
  // While output is queued, in each write_window the peer must take min_write_bytes or it is cut off, though its kernel
  // may go on answering: kWriteTooSlow, or kNeitherRead if this side was not reading either. A peer that stands still
  // is cut off one to two windows after it stopped. Watched from the high-water mark on until the queue is empty; with
  // any of the deadlines above, from the first queued byte. 0: never. The default cuts off who stands still. In a
  // graceful end it holds until the peer has acknowledged everything, and is at least 1.
  uint32_t min_write_bytes = 1;
  Duration write_window = std::chrono::seconds(60);
  // What connections run over, TLS say; it outlives the server or client. Null: nothing, they are the kernel's streams.
  const StreamLayer* layer = nullptr;
  // Connections are plain until Connection::start_layer(), as SMTP's STARTTLS has it.
  bool layer_later = false;
  // What such a layer answers, before the end, a peer that was accepted and speaks in the clear. A text that lives as
  // long as the program. Empty: nothing.
  std::string_view clear_answer = {};
  // For what such a layer does with a peer that was accepted before the connection is open, and for a start_layer().
  // Meanwhile it counts in the caps and may be evicted; a drain waits for it. What a client does as it connects is part
  // of connect_timeout. 0 is no time at all.
  Duration handshake_timeout = std::chrono::seconds(10);
  // peer_address() answers after a reset and in on_close too, for 130 bytes a connection.
  bool remember_peer = false;
};

}  // namespace peal
