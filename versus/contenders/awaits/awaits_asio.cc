// SPDX-License-Identifier: BSD-3-Clause
// awaits_asio fd|channel|select COUNT: does the same as awaits_peal, with asio's means: stream_descriptor, experimental
// channels, and the operator `||` of its awaitables. This operator can receive from both channels and then drops one
// item; peal's select() never takes more than one.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>

namespace {

using asio::awaitable;
using asio::use_awaitable;
using Channel = asio::experimental::channel<void(asio::error_code, long)>;

void check(bool done) {
  if (!done) std::abort();
}

awaitable<void> wait_for_fd(asio::io_context& io, long count) {
  std::array<int, 2> ends{};
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  check(::write(ends[1], "x", 1) == 1);
  asio::posix::stream_descriptor fd(io, ends[0]);
  for (long i = 0; i < count; ++i) co_await fd.async_wait(asio::posix::stream_descriptor::wait_read, use_awaitable);
  ::close(ends[1]);
  io.stop();
}

struct Channels {
  explicit Channels(asio::io_context& io) : there(io, 1), back(io, 1), other(io, 1) {}
  Channel there, back, other;
};

awaitable<void> send(Channels& channels, asio::io_context& io, long count) {
  for (long i = 0; i < count; ++i) {
    co_await channels.there.async_send(asio::error_code(), i, use_awaitable);
    const long answer = co_await channels.back.async_receive(use_awaitable);
    check(answer == i);
  }
  io.stop();
}

awaitable<void> answer(Channels& channels, long count) {
  for (long i = 0; i < count; ++i) {
    const long item = co_await channels.there.async_receive(use_awaitable);
    co_await channels.back.async_send(asio::error_code(), item, use_awaitable);
  }
}

awaitable<void> answer_by_select(Channels& channels, long count) {
  using namespace asio::experimental::awaitable_operators;
  for (long i = 0; i < count; ++i) {
    const auto chosen =
        co_await (channels.there.async_receive(use_awaitable) || channels.other.async_receive(use_awaitable));
    co_await channels.back.async_send(asio::error_code(), std::get<0>(chosen), use_awaitable);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: awaits_asio fd|channel|select COUNT\n", stderr);
    return 2;
  }
  const std::string_view what = argv[1];
  const long count = std::atol(argv[2]);
  asio::io_context io(1);
  Channels channels(io);
  if (what == "fd") {
    asio::co_spawn(io, wait_for_fd(io, count), asio::detached);
  } else {
    asio::co_spawn(io, what == "select" ? answer_by_select(channels, count) : answer(channels, count), asio::detached);
    asio::co_spawn(io, send(channels, io, count), asio::detached);
  }
  io.run();
}
