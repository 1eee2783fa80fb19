// SPDX-License-Identifier: BSD-3-Clause
// How far another machine's clock is off (as NTP does it, RFC 5905 section 8): the client sends its time, the server
// adds its own, and half the round trip lies between the two.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace peal::examples {

// Microseconds since 1970, as the host's byte order has it: both ends are the same kind of machine here.
struct ClockExchange {
  int64_t sent = 0;      // by the client
  int64_t answered = 0;  // by the server

  static int64_t now() {
    using std::chrono::microseconds;
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
  // `text` holds at least sizeof(ClockExchange) bytes.
  static ClockExchange from(std::string_view text) {
    ClockExchange exchange;
    std::memcpy(&exchange, text.data(), sizeof(exchange));
    return exchange;
  }
};

struct ClockReading {
  int64_t round_trip_microseconds;
  int64_t offset_microseconds;  // the server's clock is ahead by this, give or take half the round trip
};

inline ClockReading read_clock(const ClockExchange& exchange, int64_t received) {
  return {received - exchange.sent, exchange.answered - (exchange.sent + received) / 2};
}

}  // namespace peal::examples
