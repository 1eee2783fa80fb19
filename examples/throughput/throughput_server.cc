// SPDX-License-Identifier: BSD-3-Clause
// An echo or discard server on THREADS threads (1 by default). It prints each second how many bytes and messages it
// receives: `throughput_server echo|discard [ADDRESS [THREADS]]`.
#include <atomic>
#include <cstdlib>

#include <examples/shared/service.h>

namespace {

using namespace peal;

// All serving loops add to these counters. Another loop, on its own thread, prints them.
struct Counters {
  std::atomic<uint64_t> bytes = 0;
  std::atomic<uint64_t> messages = 0;
  std::atomic<int> connections = 0;
};

void print_rates(Loop& loop, const Counters& counters) {
  loop.every(std::chrono::seconds(1), [&, bytes = uint64_t{0}, messages = uint64_t{0}]() mutable {
    const uint64_t new_bytes = counters.bytes - std::exchange(bytes, counters.bytes);
    const uint64_t new_messages = counters.messages - std::exchange(messages, counters.messages);
    if (new_bytes == 0) return;
    fmt::print("{:.2f} MiB/s, {} messages/s of {:.1f} KiB, {} connections\n",
               static_cast<double>(new_bytes) / (1024 * 1024), new_messages,
               static_cast<double>(new_bytes) / static_cast<double>(new_messages) / 1024, counters.connections.load());
    std::fflush(stdout);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = examples::argument(argc, argv, 1, "");
  const int threads = std::atoi(examples::argument(argc, argv, 3, "1").c_str());
  if ((mode != "echo" && mode != "discard") || threads < 1) {
    fmt::print(stderr, "usage: throughput_server echo|discard [ADDRESS [THREADS]]\n");
    return 2;
  }
  Counters counters;
  auto group = LoopGroup::start(1, {}, "rates");
  if (!group) return examples::failed("cannot start a loop", group.error());
  (**group)[0].post([&] { print_rates((**group)[0], counters); });
  return examples::serve_on_threads(static_cast<size_t>(threads), examples::argument(argc, argv, 2, "127.0.0.1:2010"),
                                    {.on_open = [&](Connection&) { ++counters.connections; },
                                     .on_message =
                                         [&, echoes = mode == "echo"](Connection& connection, Buffer& input) {
                                           counters.bytes.fetch_add(input.size(), std::memory_order_relaxed);
                                           counters.messages.fetch_add(1, std::memory_order_relaxed);
                                           if (echoes) {
                                             connection.send(std::move(input));
                                           } else {
                                             input.clear();
                                           }
                                         },
                                     .on_close = [&](Connection&, CloseReason) { --counters.connections; }});
}
