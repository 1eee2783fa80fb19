// SPDX-License-Identifier: BSD-3-Clause
// Threads with names, and objects of which there is one: in the process, or in each thread.
#include <latch>
#include <map>
#include <string>

#include <fmt/core.h>

#include <peal/base/thread/thread.h>

namespace {

// [once]
// Made by whichever thread comes first, exactly once; destroyed at exit.
const std::map<std::string, int>& ports() {
  static const std::map<std::string, int> ports{{"echo", 7}, {"daytime", 13}};
  return ports;
}
// [once]

// [per_thread]
// Each thread has its own, made when it first asks and destroyed when it ends.
std::string& scratch() {
  static thread_local std::string scratch;
  return scratch;
}
// [per_thread]

int greet_from_a_thread() {
  // [thread]
  peal::Result<peal::Thread> clerk = peal::Thread::start("clerk", [](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      fmt::print("{}, thread {}\n", peal::current_thread_name(), peal::current_thread_id());
      return;
    }
  });
  if (!clerk) {
    fmt::print(stderr, "no thread: {}\n", clerk.error().message());
    return 1;
  }
  clerk->join();  // the destructor would ask it to stop and join as well
  // [thread]
  return 0;
}

int meet_at_a_latch() {
  // [latch]
  std::latch ready(2);
  auto helper = peal::Thread::start("helper", [&ready](const std::stop_token&) { ready.count_down(); });
  if (!helper) return 1;
  ready.arrive_and_wait();  // goes on when both are here
  // [latch]
  return 0;
}

}  // namespace

int main() {
  scratch() = "main's own";
  fmt::print("echo is port {}; {}\n", ports().at("echo"), scratch());
  return greet_from_a_thread() + meet_at_a_latch();
}
