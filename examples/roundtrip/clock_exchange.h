// SPDX-License-Identifier: BSD-3-Clause
// Measures how far the clock of another machine is ahead, as NTP does (RFC 5905 section 8). The client sends its time,
// and the server adds its own time. The client assumes that the server's time belongs to the middle of the round trip.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace peal::examples {

// The message that is sent in both directions. The times are microseconds since 1970, in the byte order of the machine,
// so both machines must have the same byte order.
struct ClockExchange {
  int64_t sent = 0;      // when the client sent the message
  int64_t answered = 0;  // when the server answered

  static int64_t now() {
    using std::chrono::microseconds;
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  // Reads an exchange from the beginning of `text`, which must hold at least sizeof(ClockExchange) bytes.
  static ClockExchange from(std::string_view text) {
    ClockExchange exchange;
    std::memcpy(&exchange, text.data(), sizeof(exchange));
    return exchange;
  }
};

struct ClockReading {
  int64_t round_trip_microseconds;
  int64_t offset_microseconds;  // how far the server's clock is ahead; the error is at most half the round trip
};

inline ClockReading read_clock(const ClockExchange& exchange, int64_t received) {
  return {received - exchange.sent, exchange.answered - (exchange.sent + received) / 2};
}

}  // namespace peal::examples
