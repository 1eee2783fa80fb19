// SPDX-License-Identifier: BSD-3-Clause
// For tests in which the owner of callbacks dies, inside one of them or beside them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include <peal/net/connection.h>

namespace peal::test {

// Is told the name of the callback that it is called in.
using ActInCallback = std::function<void(std::string_view, Connection&)>;

// Calls `act` in each callback, and does there what makes the next one come. A message is answered by `answer`.
inline ConnectionCallbacks acting(const ActInCallback& act, const std::function<void(Connection&)>& answer) {
  return {.on_open = [act](Connection& connection) { act("open", connection); },
          .on_message =
              [act, answer](Connection& connection, Buffer& input) {
                answer(connection);
                act("message", connection);
                input.clear();
              },
          .on_writable = [act](Connection& connection) { act("writable", connection); },
          .on_peer_end =
              [act](Connection& connection) {
                act("peer end", connection);
                connection.close();
              },
          .on_drain = [act](Connection& connection) { act("drain", connection); },
          .on_close = [act](Connection& connection, CloseReason) { act("close", connection); }};
}

// A session object as users write it: a handle, a timer that uses it, and its own end in any callback.
struct TickingSession {
  TickingSession(Connection& connection, std::atomic<int>& alive_count)
      : handle(connection.handle()), loop(connection.loop()), alive(alive_count) {
    ++alive;
    timer = loop.every(std::chrono::milliseconds(1), [this] { ++ticks; });
  }
  ~TickingSession() {
    loop.cancel(timer);
    handle.send("late");
    handle.close();
    --alive;
  }
  TickingSession(const TickingSession&) = delete;
  TickingSession& operator=(const TickingSession&) = delete;

  ConnectionHandle handle;
  Loop& loop;
  std::atomic<int>& alive;
  TimerId timer;
  int ticks = 0;
};

// Echoing callbacks that touch what dies with their owner: the sanitizers see what the flag misses.
struct OwnedCalls {
  std::unique_ptr<std::atomic<int>> calls = std::make_unique<std::atomic<int>>(0);
  std::atomic<bool> gone = false;

  SharedConnectionCallbacks callbacks() {
    return {.on_open = [this](Connection&) { touch(); },
            .on_message =
                [this](Connection& connection, Buffer& input) {
                  touch();
                  connection.send(std::move(input));
                },
            .on_writable = [this](Connection&) { touch(); },
            .on_close = [this](Connection&, CloseReason) { touch(); }};
  }
  void touch() {
    EXPECT_FALSE(gone) << "a callback began after its owner's end";
    if (calls) ++*calls;
  }
  void end() {
    gone = true;
    calls.reset();
  }
};

}  // namespace peal::test
