// SPDX-License-Identifier: BSD-3-Clause
// Prints the Adler-32 checksum of each file whose name is a line of standard input: `find . -type f | checksums`. Reads
// up to three files at the same time, on the threads of a pool. Ends on Ctrl-C, or after a minute without a new name.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/core.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/coro/when.h>
#include <peal/sync/async_event.h>
#include <peal/sync/async_fd.h>
#include <peal/sync/async_pool.h>
#include <peal/sync/async_queue.h>
#include <peal/sync/callback_await.h>
#include <peal/sync/select.h>

using namespace peal;

namespace {

Result<uint32_t> checksum_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return fail(errno);
  uint32_t a = 1;
  uint32_t b = 0;
  for (char byte = 0; file.get(byte);) {
    a = (a + static_cast<uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

class Checksums {
 public:
  Checksums(Loop& loop, AsyncPool& pool) : loop_(loop), pool_(pool) {}

  Task<> run() {
    Scope signals(loop_);
    signals.spawn(stop_on_interrupt());
    co_await when_all(read_names(), work(), work(), work());
    signals.cancel();
    co_await signals.join();
    loop_.stop();
  }

 private:
  // Quoted in docs: [callback]
  Task<> stop_on_interrupt() {
    auto start = [this](Completion<> done) {
      auto on_signal = [done = std::move(done)]() mutable { done(); };
      handler_ = loop_.on_signal(SIGINT, std::move(on_signal)).value_or(SignalId());
    };
    auto give_up = [this] { loop_.cancel(handler_); };
    if (co_await callback_await(start, give_up)) stopping_.set();
  }
  // End of quote: [callback]

  // Quoted in docs: [fd]
  Task<> read_names() {
    AsyncFd input(loop_, STDIN_FILENO);  // standard input is non-blocking already
    std::array<char, 4096> room{};
    std::string text;
    for (;;) {
      const auto patience = std::chrono::minutes(1);
      auto chosen = co_await select(stopping_.wait(), input.readable()).within(patience);
      if (!chosen || chosen->index() == 0) break;
      const ssize_t got = ::read(input.fd(), room.data(), room.size());
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) break;
      text.append(room.data(), static_cast<size_t>(got));
      for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        std::string name = text.substr(0, end);
        auto pushed = co_await select(stopping_.wait(), names_.push(std::move(name)));
        if (!pushed || pushed->index() == 0) co_return;  // the program stops: nobody reads the queue any more
        text.erase(0, end + 1);
      }
    }
    names_.close();
  }
  // End of quote: [fd]

  // Quoted in docs: [work]
  Task<> work() {
    for (;;) {
      auto chosen = co_await select(stopping_.wait(), names_.pop());
      if (!chosen || chosen->index() == 0) co_return;
      const Result<std::string>& name = std::get<1>(*chosen);
      if (!name) co_return;  // the queue is closed and empty
      auto job = [&name] { return checksum_of(*name); };
      const Result<uint32_t> sum = co_await pool_.run(job);
      fmt::print("{} {}\n", sum ? fmt::format("{:08x}", *sum) : sum.error().message(), *name);
      std::fflush(stdout);
    }
  }
  // End of quote: [work]

  Loop& loop_;
  AsyncPool& pool_;
  AsyncQueue<std::string> names_{16};
  AsyncEvent stopping_;
  SignalId handler_;
};

}  // namespace

int main() {
  auto pool = AsyncPool::start();
  if (!pool) return 1;
  ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  Loop loop;
  Checksums checksums(loop, **pool);
  Scope scope(loop);
  scope.spawn(checksums.run());
  return loop.run() ? 0 : 1;
}
