// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/run_process.h>

#include <cerrno>
#include <coroutine>
#include <csignal>
#include <system_error>
#include <tuple>
#include <utility>

#include <peal/coro/when.h>

namespace peal {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

// Answers the loop of whoever awaits it.
struct LoopHere {
  static bool await_ready() { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    loop = &handle.promise().strand()->loop();
    return false;
  }
  Loop& await_resume() const { return *loop; }

  Loop* loop = nullptr;
};

class ProcessRun {
 public:
  ProcessRun(Subprocess& process, const RunOptions& options) : process_(process), options_(options) {}

  Task<Result<ProcessAnswer>> all() {
    co_await when_all(give_input(), take(process_.output(), answer_.output), take(process_.errors(), answer_.errors),
                      take_status());
    if (error_) co_return std::unexpected(error_);
    co_return std::move(answer_);
  }

 private:
  // By the piece, or the connection would hold all of it. A program that has enough of it has not failed.
  Task<> give_input() {
    if (options_.input.empty()) co_return;
    Stream& stream = process_.input();
    for (std::string_view left = options_.input; !left.empty();) {
      const std::string_view piece = left.substr(0, kPieceBytes);
      if (!co_await stream.write(piece)) co_return;
      left.remove_prefix(piece.size());
    }
    stream.shutdown_send();
  }
  Task<> take(Stream& stream, std::string& all) {
    for (;;) {
      Result<Buffer> more = co_await stream.read();
      if (!more) co_return give_up(more.error());
      if (more->empty()) co_return;
      if (more->size() > options_.output_limit_bytes - all.size()) co_return give_up(errno_code(EMSGSIZE));
      all += more->view();
    }
  }
  Task<> take_status() {
    const Result<ExitStatus> status = co_await process_.wait();
    if (!status) co_return give_up(status.error());
    answer_.status = *status;
  }
  // The first error is the reason for the others.
  void give_up(std::error_code error) {
    if (error_) return;
    error_ = error;
    std::ignore = process_.signal(SIGKILL);
    if (!options_.input.empty()) process_.input().abort();
    process_.output().abort();
    process_.errors().abort();
  }

  Subprocess& process_;
  const RunOptions& options_;
  ProcessAnswer answer_;
  std::error_code error_;
};

}  // namespace

Task<Result<ProcessAnswer>> run_process(Command command, RunOptions options) {
  SubprocessOptions process_options = options.process;
  process_options.input = options.input.empty() ? Stdio::null() : Stdio::stream();
  process_options.output = process_options.errors = Stdio::stream();
  LoopHere here;
  Loop& loop = co_await here;
  Result<Subprocess> process = Subprocess::start(loop, command, process_options);
  if (!process) co_return std::unexpected(process.error());
  ProcessRun run(*process, options);
  co_return co_await run.all().within(options.timeout);
}

}  // namespace peal
