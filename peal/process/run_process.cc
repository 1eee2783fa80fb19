// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/run_process.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <system_error>
#include <tuple>
#include <utility>

#include <peal/coro/this_loop.h>
#include <peal/coro/when.h>

namespace peal {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

// Returns whether the error of a write means that the program reads no more input. ESHUTDOWN means that both directions
// of the stream had ended before the write.
bool is_end_of_reader(std::error_code error) {
  return std::ranges::any_of(std::initializer_list<int>{EPIPE, ECONNRESET, ESHUTDOWN},
                             [&](int known) { return error == errno_code(known); });
}

class ProcessRun {
 public:
  ProcessRun(Subprocess& process, const RunOptions& options) : process_(process), options_(options) {}

  Task<Result<ProcessAnswer>> run() {
    co_await when_all(write_input(), read_all(process_.output(), answer_.output),
                      read_all(process_.errors(), answer_.errors), wait_for_end());
    if (error_) co_return std::unexpected(error_);
    co_return std::move(answer_);
  }

 private:
  // Writes the whole input. If the program closes its input early, the run has not failed. If another error cuts the
  // input off, the run fails, so that the program does not take a part of its input for the whole.
  Task<> write_input() {
    if (options_.input.empty()) co_return;
    const Result<void> given = co_await write_all(process_.input());
    if (!given && !is_end_of_reader(given.error())) fail_with(given.error());
  }
  // Writes the input in pieces of 64 KiB, so that the connection does not have to buffer a copy of the whole input.
  Task<Result<void>> write_all(Stream& stream) {
    for (std::string_view left = options_.input; !left.empty();) {
      const std::string_view piece = left.substr(0, kPieceBytes);
      if (const Result<void> written = co_await stream.write(piece); !written) co_return written;
      left.remove_prefix(piece.size());
    }
    stream.shutdown_send();
    co_return co_await stream.flush();
  }
  Task<> read_all(Stream& stream, std::string& all) {
    for (;;) {
      Result<Buffer> more = co_await stream.read();
      if (!more) co_return fail_with(more.error());
      if (more->empty()) co_return;
      if (more->size() > options_.output_limit_bytes - all.size()) co_return fail_with(errno_code(EMSGSIZE));
      all += more->view();
    }
  }
  Task<> wait_for_end() {
    const Result<ExitStatus> status = co_await process_.wait();
    if (!status) co_return fail_with(status.error());
    answer_.status = *status;
  }
  // Records the error, kills the program and aborts the streams. Ignores later errors, because they are only effects of
  // the first.
  void fail_with(std::error_code error) {
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
  process_options.output = Stdio::stream();
  process_options.errors = Stdio::stream();
  Loop& loop = co_await this_loop();
  Result<Subprocess> process = Subprocess::start(loop, command, process_options);
  if (!process) co_return std::unexpected(process.error());
  ProcessRun run(*process, options);
  co_return co_await run.run().within(options.timeout);
}

}  // namespace peal
