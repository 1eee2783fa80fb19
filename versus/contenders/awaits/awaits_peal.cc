// SPDX-License-Identifier: BSD-3-Clause
// awaits_peal KIND COUNT repeats one kind of wait COUNT times. The kinds:
// - fd: waits for an fd that is ready.
// - channel: sends an item to another task, which sends it back.
// - select: as channel, but the other task waits with select() for a second channel too.
// - ask: asks an object that lives on the same loop.
// - ask_away: asks an object that lives on another loop. The main thread runs the turns of both loops alternately.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <peal/coro/scope.h>
#include <peal/share/loop_object.h>
#include <peal/sync/async_fd.h>
#include <peal/sync/async_queue.h>
#include <peal/sync/select.h>

using namespace peal;

namespace {

void check(bool done) {
  if (!done) std::abort();
}

// Waits `count` times until an fd is readable. The fd is always readable, because its one byte is never read.
Task<> wait_for_fd(Loop& loop, long count) {
  std::array<int, 2> ends{};
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd far(ends[1]);
  check(::write(far.get(), "x", 1) == 1);
  AsyncFd fd(loop, Fd(ends[0]));
  for (long i = 0; i < count; ++i) {
    const Result<void> ready = co_await fd.readable();
    check(ready.has_value());
  }
  loop.stop();
}

struct Channels {
  AsyncQueue<long> there{1};
  AsyncQueue<long> back{1};
  AsyncQueue<long> other{1};
};

Task<> send(Channels& channels, Loop& loop, long count) {
  for (long i = 0; i < count; ++i) {
    const Result<void> sent = co_await channels.there.push(i);
    const Result<long> answer = co_await channels.back.pop();
    check(sent && answer == i);
  }
  loop.stop();
}

Task<> answer(Channels& channels, long count) {
  for (long i = 0; i < count; ++i) {
    const Result<long> item = co_await channels.there.pop();
    const Result<void> sent = co_await channels.back.push(*item);
    check(sent.has_value());
  }
}

Task<> answer_by_select(Channels& channels, long count) {
  for (long i = 0; i < count; ++i) {
    const auto chosen = co_await select(channels.there.pop(), channels.other.pop());
    const Result<void> sent = co_await channels.back.push(*std::get<0>(*chosen));
    check(sent.has_value());
  }
}

Task<> ask(const OnLoop<long>& object, Loop& loop, long count) {
  for (long i = 0; i < count; ++i) {
    const Result<long> answer = co_await object.ask([](long& number) { return number++; });
    check(answer == i);
  }
  loop.stop();
}

int ask_all(Loop& loop, bool away, long count) {
  auto other = Loop::make({.engine = "epoll"});
  check(other && loop.begin() && (*other)->begin());
  const OnLoop<long> object(away ? **other : loop);
  Scope scope(loop);
  scope.spawn(ask(object, loop, count));
  while (loop.mailbox()->open()) {
    loop.step();
    if ((*other)->mailbox()->waiting() > 0) (*other)->step();
  }
  (*other)->end();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: awaits_peal fd|channel|select|ask|ask_away COUNT\n", stderr);
    return 2;
  }
  const std::string_view what = argv[1];
  const long count = std::atol(argv[2]);
  auto loop = Loop::make({.engine = "epoll"});
  if (!loop) return 1;
  if (what == "ask" || what == "ask_away") return ask_all(**loop, what == "ask_away", count);
  Channels channels;
  Scope scope(**loop);
  if (what == "fd") {
    scope.spawn(wait_for_fd(**loop, count));
  } else {
    scope.spawn(what == "select" ? answer_by_select(channels, count) : answer(channels, count));
    scope.spawn(send(channels, **loop, count));
  }
  return (*loop)->run() ? 0 : 1;
}
