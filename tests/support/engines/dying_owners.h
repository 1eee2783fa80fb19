// SPDX-License-Identifier: BSD-3-Clause
// Parts of tests in which the owner of callbacks is destroyed, inside one of the callbacks or outside of them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include <peal/net/connection.h>

namespace peal::test {

// A function that the test wants to be called inside each callback of a connection. Its arguments are the callback's
// name and the connection.
using ActInCallback = std::function<void(std::string_view, Connection&)>;

// Returns callbacks of a connection. Each of them calls `act`. In addition, on_message calls `answer`, and on_peer_end
// closes the connection.
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

// A session object as applications have it: with a connection handle, and with a timer whose callback uses the object.
// The test may destroy it inside any callback.
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

// An object whose callbacks use the object's memory. Its on_message also sends all input back. If a callback is called
// after end(), the test fails, because `gone` is true. If a callback runs on another thread during end(), the callback
// uses `calls` while end() frees that memory. A sanitizer reports that access.
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
    EXPECT_FALSE(gone) << "a callback was called after the end of its owner";
    if (calls) ++*calls;
  }
  void end() {
    gone = true;
    calls.reset();
  }
};

}  // namespace peal::test
