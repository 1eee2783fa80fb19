// SPDX-License-Identifier: BSD-3-Clause
// Keeps a program running: `keep_running PROGRAM [ARGUMENT...]`. Prints each line of the program's output and errors,
// with the process id in front. Starts the program again one second after it has ended. Ctrl-C sends SIGTERM to the
// program, and kills it if it still runs five seconds later.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/process/subprocess.h>
#include <peal/sync/async_event.h>
#include <peal/sync/select.h>

namespace {

using namespace peal;
using namespace std::chrono_literals;

class Keeper {
 public:
  Keeper(Loop& loop, Command command) : loop_(loop), command_(std::move(command)) {}

  Task<> run() {
    for (bool starts = true; starts && !stopping_.is_set();) {
      starts = co_await run_once();
      if (starts) co_await select(stopping_.wait(), sleep(1s));
    }
    loop_.stop();
  }
  void stop() { stopping_.set(); }

 private:
  // Quoted in docs: [once]
  // Runs the program once and waits for its end. Returns false if the program cannot be started.
  Task<bool> run_once() {
    auto child = Subprocess::start(loop_, command_, {.input = Stdio::null(), .errors = Stdio::output()});
    if (!child) {
      examples::failed("cannot start " + command_.arguments().front(), child.error());
      co_return false;
    }
    Scope lines(loop_);
    lines.spawn(print_lines(child->output(), child->pid()));
    auto chosen = co_await select(stopping_.wait(), child->wait());
    const bool stops = chosen && chosen->index() == 0;
    auto ended = stops ? co_await child->stop(5s) : co_await child->wait();
    // Waits for the end of the output, but at most one second. A process that the program has started may outlive the
    // program and keep the output open.
    co_await lines.join().within(1s);
    if (ended) fmt::print("{} ended: code {}, signal {}\n", child->pid(), ended->code, ended->signal);
    std::fflush(stdout);
    co_return true;
  }

  static Task<> print_lines(Stream& output, pid_t pid) {
    for (;;) {
      auto line = co_await output.read_until("\n");
      if (!line) line = co_await output.read();  // the line is longer than the buffer, or has no newline
      if (!line || line->empty()) co_return;
      std::string_view text = line->view();
      if (text.ends_with('\n')) text.remove_suffix(1);
      fmt::print("{}: {}\n", pid, text);
      std::fflush(stdout);
    }
  }
  // End of quote: [once]

  Loop& loop_;
  const Command command_;
  AsyncEvent stopping_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} PROGRAM [ARGUMENT...]\n", argv[0]);
    return 2;
  }
  Loop loop;
  Keeper keeper(loop, Command(std::vector<std::string>(argv + 1, argv + argc)));
  for (const int number : {SIGINT, SIGTERM}) {
    const auto heard = loop.on_signal(number, [&keeper] { keeper.stop(); });
    if (!heard) return examples::failed("cannot handle signals", heard.error());
  }
  Scope scope(loop);
  scope.spawn(keeper.run());
  const Result<void> ran = loop.run();
  return ran ? 0 : examples::failed("cannot run the loop", ran.error());
}
