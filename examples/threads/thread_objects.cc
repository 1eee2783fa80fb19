// SPDX-License-Identifier: BSD-3-Clause
// Shows threads with names, and objects that exist once in the process, or once in each thread.
#include <latch>
#include <map>
#include <string>

#include <fmt/core.h>

#include <peal/base/thread/thread.h>

namespace {

// Quoted in docs: [once]
// The first call creates the map. If several threads call at the same time, one of them creates the map and the others
// wait. The map is destroyed when main() has returned or exit() is called.
const std::map<std::string, int>& ports() {
  static const std::map<std::string, int> ports{{"echo", 7}, {"daytime", 13}};
  return ports;
}
// End of quote: [once]

// Quoted in docs: [per_thread]
// Each thread has a string of its own. The string is created by the first call on the thread, and destroyed when the
// thread ends.
std::string& scratch() {
  static thread_local std::string scratch;
  return scratch;
}
// End of quote: [per_thread]

int greet_from_a_thread() {
  // Quoted in docs: [thread]
  peal::Result<peal::Thread> clerk = peal::Thread::start("clerk", [](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      fmt::print("{}, thread {}\n", peal::current_thread_name(), peal::current_thread_id());
      return;
    }
  });
  if (!clerk) {
    fmt::print(stderr, "cannot start the thread: {}\n", clerk.error().message());
    return 1;
  }
  clerk->join();  // the destructor would also request a stop and join
  // End of quote: [thread]
  return 0;
}

int meet_at_a_latch() {
  // Quoted in docs: [latch]
  std::latch ready(2);
  auto helper = peal::Thread::start("helper", [&ready](const std::stop_token&) { ready.count_down(); });
  if (!helper) return 1;
  ready.arrive_and_wait();  // returns when both threads have arrived
  // End of quote: [latch]
  return 0;
}

}  // namespace

int main() {
  scratch() = "main's own";
  fmt::print("echo is port {}; {}\n", ports().at("echo"), scratch());
  return greet_from_a_thread() + meet_at_a_latch();
}
