// SPDX-License-Identifier: BSD-3-Clause
// Asks a time server (RFC 868) for the time, and prints it as a date. `time_client [ADDRESS]`
#include <ctime>

#include <examples/shared/service.h>
#include <examples/simple/services.h>
#include <fmt/chrono.h>

#include <peal/net/client.h>
#include <peal/wire/framing/integer_bytes.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  const std::string address = argument(argc, argv, 1, "127.0.0.1:2037");
  int exit_code = 1;
  peal::Loop loop;
  auto on_message = [&](peal::Connection& connection, peal::Buffer& input) {
    const std::optional<uint32_t> seconds = peal::read_integer<4>(input);
    if (!seconds) return;  // fewer than four bytes have arrived
    const auto since_1970 = static_cast<std::time_t>(*seconds - kSecondsFrom1900To1970);
    fmt::print("{:%Y-%m-%d %H:%M:%S} UTC\n", fmt::gmtime(since_1970));
    exit_code = 0;
    connection.close();
  };
  auto on_close = [&](peal::Connection&, peal::CloseReason) { loop.stop(); };
  peal::Client client(loop, {.on_message = on_message, .on_close = on_close}, {},
                      [&](std::error_code error, peal::Duration) {
                        failed("cannot connect to " + address, error);
                        loop.stop();
                      });
  if (auto started = client.connect(address); !started) return failed(address, started.error());
  const int ran = run(loop);
  return ran == 0 ? exit_code : ran;
}
