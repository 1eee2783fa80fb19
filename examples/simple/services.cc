// SPDX-License-Identifier: BSD-3-Clause
#include <examples/simple/services.h>

#include <ctime>
#include <string>

#include <fmt/chrono.h>

#include <peal/wire/framing/integer_bytes.h>

namespace peal::examples {
namespace {

// Returns the pattern of RFC 864. Each line has 72 of the 95 printable characters. Each line begins one character later
// than the line before it.
std::string chargen_lines() {
  constexpr int kPrinting = 95;
  constexpr int kLine = 72;
  std::string lines;
  for (int line = 0; line < kPrinting; ++line) {
    for (int column = 0; column < kLine; ++column) lines += static_cast<char>(' ' + (line + column) % kPrinting);
    lines += "\r\n";
  }
  return lines;
}

}  // namespace

SharedConnectionCallbacks echo_service() {
  return {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
}

SharedConnectionCallbacks discard_service() {
  return {.on_message = [](Connection&, Buffer& input) { input.clear(); }};
}

SharedConnectionCallbacks daytime_service() {
  return {.on_open = [](Connection& connection) {
    connection.send(fmt::format("{:%a, %d %b %Y %H:%M:%S} UTC\r\n", fmt::gmtime(std::time(nullptr))));
    connection.close();
  }};
}

SharedConnectionCallbacks time_service() {
  return {.on_open = [](Connection& connection) {
    std::string seconds;
    append_integer<4>(seconds, static_cast<uint32_t>(std::time(nullptr)) + kSecondsFrom1900To1970);
    connection.send(seconds);
    connection.close();
  }};
}

// All clients share one copy of the lines. `fill` sends the lines until send() returns false, because the queued output
// is above the high-water mark. on_writable calls `fill` again when the queue has drained to half of the mark. The
// queue therefore never exceeds the mark by more than one copy of the lines. `sent_bytes` counts the bytes that were
// given to send().
SharedConnectionCallbacks chargen_service(std::atomic<uint64_t>& sent_bytes) {
  auto fill = [lines = share_bytes(chargen_lines()), &sent_bytes](Connection& connection) {
    do {
      sent_bytes += lines->size();
    } while (connection.send(lines));
  };
  return {
      .on_open = fill,
      .on_message = [](Connection&, Buffer& input) { input.clear(); },
      .on_writable = fill,
  };
}

void print_throughput(Loop& loop, Duration period, const std::atomic<uint64_t>& bytes) {
  loop.every(period, [&loop, &bytes, before = uint64_t{0}, since = loop.now()]() mutable {
    const uint64_t now_bytes = bytes;
    const double seconds = std::chrono::duration<double>(loop.now() - since).count();
    if (now_bytes != before) {
      fmt::print("{:.1f} MiB/s\n", static_cast<double>(now_bytes - before) / seconds / (1024 * 1024));
      std::fflush(stdout);
    }
    before = now_bytes;
    since = loop.now();
  });
}

}  // namespace peal::examples
