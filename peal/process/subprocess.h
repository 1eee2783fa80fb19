// SPDX-License-Identifier: BSD-3-Clause
// Subprocess: another program that a coroutine starts, exchanges bytes with by streams, waits for and stops:
//
//   auto sort = peal::Subprocess::start(loop, {"sort", "-n"});
//   if (!sort) co_return complain(sort.error());                      // ENOENT: there is no such program
//   co_await sort->input().write("3\n1\n2\n");
//   sort->input().shutdown_send();
//   auto first = co_await sort->output().read_until("\n").within(1s);
//   auto ended = co_await sort->wait().within(5s);                    // the exit code, or the signal that ended it
//
// Streams: standard input, output and errors are Streams over a socketpair(2) each. Limits, backpressure, deadlines,
// pipe() and select() work as for a connection. A socket is not a pipe: a program that opens /dev/stdin or /dev/stdout
// by that name (`echo >/dev/stdout` in a shell) gets ENXIO.
//
// What the program starts with: the default signal dispositions, an empty signal mask, and no fds except those that the
// options pass.
//
// Reaping: the child is reaped as soon as it ends, whether or not a task waits for it. A pidfd identifies the child, so
// no signal can reach another process that has got the same process id. Other children of this process are not waited
// for. In turn, no other code may reap this child. If SIGCHLD is ignored, or other code calls wait(2) for any child,
// the exit status is lost (ECHILD).
//
// Destruction: a Subprocess belongs to its loop's thread. Its destructor kills a child that still runs, as
// signal(SIGKILL) does, and closes the streams. The destructor does not wait: the loop reaps the child. The destructor
// blocks for the killed child, some milliseconds, only if the loop has ended, is ending, or has an engine that cannot
// watch a pidfd.
//
// If this process itself dies, its children keep running; their standard input ends. To have the children killed as
// well, start them by {"setpriv", "--pdeathsig", "KILL", ...}. The thread that starts such a child must live as long as
// the child.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/coro/stream.h>
#include <peal/coro/task.h>
#include <peal/loop/loop.h>
#include <peal/net/connection_options.h>

namespace peal {

namespace detail {
class ChildProcess;
}

// A program and its arguments. A name without a slash is searched for in this process's PATH. A relative name with a
// slash starts at the child's working directory.
class Command {
 public:
  // Makes a command of texts: Command("sort", "-n"). This is a template, because g++ 12 cannot make a
  // std::initializer_list of a braced list in an awaited expression.
  template <class... Texts>
    requires(sizeof...(Texts) > 0 && (std::convertible_to<const Texts&, std::string_view> && ...))
  Command(const Texts&... arguments) {
    arguments_.reserve(sizeof...(Texts));
    (arguments_.emplace_back(std::string_view(arguments)), ...);
  }
  explicit Command(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  std::vector<std::string> arguments_;
};

// Says what a child's standard input, output or errors is connected to.
class Stdio {
 public:
  enum class Kind : uint8_t { kStream, kInherited, kNull, kFd, kOutput };

  // Connects the child to a Stream of the Subprocess: input(), output() or errors(). The child gets one socket of a
  // socketpair(2), not a pipe.
  static constexpr Stdio stream() { return {Kind::kStream, -1}; }

  // Gives the child this process's own standard input, output or errors.
  static constexpr Stdio inherited() { return {Kind::kInherited, -1}; }

  // Connects the child to the device /dev/null.
  static constexpr Stdio null() { return {Kind::kNull, -1}; }

  // Connects the child to an open file, pipe or terminal. The fd is borrowed until start() returns.
  static constexpr Stdio of(int fd) { return {Kind::kFd, fd}; }

  // Sends errors to the same place as output, so that both keep the order in which they are written. Valid for
  // SubprocessOptions::errors only.
  static constexpr Stdio output() { return {Kind::kOutput, -1}; }

  Kind kind() const { return kind_; }
  int fd() const { return fd_; }

 private:
  constexpr Stdio(Kind kind, int fd) : kind_(kind), fd_(fd) {}

  Kind kind_;
  int fd_;
};

// Everything that SubprocessOptions refers to must live until Subprocess::start() returns.
struct SubprocessOptions {
  Stdio input = Stdio::stream();
  Stdio output = Stdio::stream();
  Stdio errors = Stdio::inherited();
  // Further fds that the child gets, as 3, 4, ... in this order. The child has no other fds.
  std::span<const int> fds = {};
  // Changes to the environment that the child inherits: "NAME=VALUE" sets a variable, "NAME" removes one.
  std::span<const std::string> environment = {};
  // True if the child inherits no environment. The child then has only the variables in `environment`.
  bool clean_environment = false;
  std::string_view directory = {};  // the child's working directory; if empty, this process's
  // True if the child leads a process group of its own. "Signals" are those that signal() and stop() send.
  //   - true: signals reach the child and all processes of its group, such as its own children. Processes that are left
  //     in the group when the child ends are killed.
  //   - false: signals reach the child alone. Ctrl-C on this process's terminal reaches the child as well.
  // For the terminal, the child's own group is a background group: SIGTTIN stops a process of the group that reads from
  // the terminal, and nothing continues that process. ssh and sudo, for example, read a password from /dev/tty. Set
  // own_group to false for programs that talk to the user.
  bool own_group = true;
  // Options of the three streams. min_write_bytes is ignored and taken as 0, because a child may compute for a long
  // time before it reads its input. To limit that time, use write().within().
  ConnectionOptions stream = {};
};
// g++ 12 destroys a temporary in an awaited expression twice, which is harmless only if the destructor is trivial.
static_assert(std::is_trivially_destructible_v<SubprocessOptions>);

struct ExitStatus {
  int code = 0;              // the argument of exit(3), 0 to 255; 0 if a signal ended the process
  int signal = 0;            // the signal that ended the process; 0 if the process exited
  bool dumped_core = false;  // true if a signal ended the process and it wrote a core dump

  bool success() const { return code == 0 && signal == 0; }
  bool operator==(const ExitStatus&) const = default;
};

class ProcessEnd;

class Subprocess {
 public:
  // Starts the program. Must be called on the loop's thread, inside run(). Blocks the loop until the program is
  // executing, about a millisecond. If it fails, no process is left:
  //   ENOENT, EACCES, ENOEXEC, E2BIG   execve(2) failed; ENOENT and EACCES may mean the directory as well
  //   EBADF                            one of the fds to pass is not open
  //   EINVAL                           the command is empty, a text contains a NUL, a change of the environment has no
  //                                    name, or Stdio::output() is used for input or output
  //   EMFILE, EAGAIN, ENOMEM           too few fds, processes or too little memory
  //   Trouble::kLoopStopped            the loop has begun to end
  static Result<Subprocess> start(Loop& loop, const Command& command, const SubprocessOptions& options = {});

  // input(), output() and errors() return a stream to the child. They assert that the option of the same name was
  // Stdio::stream() and that the Stream was not moved out. The Subprocess owns the streams. A Stream that was moved out
  // may outlive the Subprocess.
  //   - input(): shutdown_send() ends the child's input. write() fails with EPIPE or ECONNRESET after the child has
  //     closed its input or has ended.
  //   - output(), errors(): end when no process has the other side open any more. A grandchild may keep that side open
  //     after the child has ended.
  Stream& input() { return stream(0); }
  Stream& output() { return stream(1); }
  Stream& errors() { return stream(2); }

  // Waits for the end of the child: `co_await wait()` gives a Result<ExitStatus>. May be called any number of times, by
  // several tasks at once, and passed to select(). The streams may still hold bytes that were not read.
  //   ECHILD                     other code has reaped the child
  //   errors of Watch::OnError   the engine cannot watch the pidfd
  // The destructor of Subprocess asserts that no task waits. If the child's end resumes several tasks, the first of
  // them may destroy the Subprocess, because the others have their result already.
  ProcessEnd wait();

  // Sends a signal to the child and to all other processes of its group. If SubprocessOptions::own_group is false,
  // sends it to the child alone. Does nothing after the child was reaped, so that no other process with the same
  // process id can get the signal.
  //   EPERM    the child has changed its user; other processes of its group may have got the signal
  //   EINVAL   there is no such signal
  Result<void> signal(int number);

  // Sends SIGTERM as signal() does and waits for the end of the child. If the child has not ended after `grace`, sends
  // SIGKILL in the same way. SIGCONT follows the SIGTERM, because a stopped process does not handle SIGTERM. Fails as
  // wait() and signal() do. If this await is cancelled or exceeds a deadline, the child has got SIGTERM and may have
  // got SIGKILL.
  Task<Result<ExitStatus>> stop(Duration grace = std::chrono::seconds(5));

  pid_t pid() const;

 private:
  struct Abandon {
    void operator()(detail::ChildProcess* child) const;
  };

  explicit Subprocess(std::unique_ptr<detail::ChildProcess> child);
  Stream& stream(size_t number);

  std::unique_ptr<detail::ChildProcess, Abandon> child_;
};

// The awaitable that Subprocess::wait() returns.
class [[nodiscard]] ProcessEnd final : public detail::QueuedWait<ProcessEnd> {
 public:
  explicit ProcessEnd(detail::ChildProcess& child) : child_(child) {}
  bool await_ready() const;
  Result<ExitStatus> await_resume() const;
  detail::Wait& selectable() { return *this; }

 private:
  friend class detail::ChildProcess;
  friend class detail::QueuedWait<ProcessEnd>;
  friend class detail::WaitList<ProcessEnd>;
  detail::WaitList<ProcessEnd>& line();

  detail::ChildProcess& child_;                 // may be destroyed after end_ is set
  std::optional<Result<ExitStatus>> end_ = {};  // the result; empty if the child had ended before the await began
};

}  // namespace peal
