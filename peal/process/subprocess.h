// SPDX-License-Identifier: BSD-3-Clause
// Subprocess: another program, as coroutines see it: started, talked to by streams, waited for, stopped.
//
//   auto sort = peal::Subprocess::start(loop, {"sort", "-n"});
//   if (!sort) co_return fail(sort.error());                          // ENOENT: there is no such program
//   co_await sort->input().write("3\n1\n2\n");
//   sort->input().shutdown_send();
//   auto first = co_await sort->output().read_until("\n").within(1s);
//   auto ended = co_await sort->wait().within(5s);                    // with which code, or by which signal
//
// Standard input, output and errors are Streams, each over a socketpair(2): limits, backpressure, deadlines, pipe() and
// select() are those of a connection. A socket is no pipe: a program that opens /dev/stdin or /dev/stdout by that name
// (`echo >/dev/stdout` in a shell) gets ENXIO. What starts has the default signal dispositions, an empty signal mask,
// and no fds but those it is given.
//
// It is reaped as soon as it ends, whether somebody waits or not, and known by a pidfd: nothing here can mean another
// process that has got its number. No other child of this process is waited for. In turn, nobody else may reap it:
// where SIGCHLD is ignored, or something calls wait(2) for any child, how it ended is not known (ECHILD).
//
// It belongs to its loop. Destroying it kills what still runs (SIGKILL) and ends the streams, without waiting: the loop
// reaps. Only where no loop can, one that ends or has ended, or whose engine cannot watch a pidfd, it waits for what it
// has killed, which takes milliseconds. A process that dies itself leaves its children be; their input ends. Who wants
// them dead as well starts them by {"setpriv", "--pdeathsig", "KILL", ...}, on a thread that lives as long.
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

// A program and its arguments. A name without a slash is looked for in this process's PATH; a relative one with a slash
// from the child's directory on.
class Command {
 public:
  // Command("sort", "-n"). (Of a braced list of texts g++ 12 makes no std::initializer_list in an awaited expression.)
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

// Where standard input, output or errors of a child lead.
class Stdio {
 public:
  enum class Kind : uint8_t { kStream, kInherited, kNull, kFd, kOutput };

  // A Stream of the Subprocess.
  static constexpr Stdio stream() { return {Kind::kStream, -1}; }
  // The same as this process's.
  static constexpr Stdio inherited() { return {Kind::kInherited, -1}; }
  // /dev/null.
  static constexpr Stdio null() { return {Kind::kNull, -1}; }
  // A file, a pipe, a terminal; borrowed until start() returns.
  static constexpr Stdio of(int fd) { return {Kind::kFd, fd}; }
  // Of errors only: to wherever output leads, in the order it is written.
  static constexpr Stdio output() { return {Kind::kOutput, -1}; }

  Kind kind() const { return kind_; }
  int fd() const { return fd_; }

 private:
  constexpr Stdio(Kind kind, int fd) : kind_(kind), fd_(fd) {}

  Kind kind_;
  int fd_;
};

// What is referred to must live until start() returns.
struct SubprocessOptions {
  Stdio input = Stdio::stream();
  Stdio output = Stdio::stream();
  Stdio errors = Stdio::inherited();
  // The child's further fds: 3, 4, ... in this order. It has no others.
  std::span<const int> fds = {};
  // Changes to this process's environment: "NAME=VALUE", or "NAME", which is to be absent.
  std::span<const std::string> environment = {};
  bool clean_environment = false;   // the changes are all there is
  std::string_view directory = {};  // to work in; empty: this process's
  // The child leads a process group of its own: signals reach all who are in it, its own children too, and who is left
  // in it when the child ends is killed. Without, they reach the child alone; but a terminal's Ctrl-C does, too.
  // To a terminal such a group is one in the background: what reads from it, an inherited input or /dev/tty as ssh and
  // sudo open it for a password, is stopped by SIGTTIN and never goes on. Programs that talk to the user have no group.
  bool own_group = true;
  // Of the streams, but for min_write_bytes: a child may compute for as long as it likes before it reads. Who does not
  // want to wait for that writes within() a time.
  ConnectionOptions stream = {};
};
// g++ 12 destroys such a temporary of an awaited expression twice.
static_assert(std::is_trivially_destructible_v<SubprocessOptions>);

struct ExitStatus {
  int code = 0;              // of exit(3), 0 to 255
  int signal = 0;            // that ended it; 0: it exited
  bool dumped_core = false;  // with such a signal

  bool success() const { return code == 0 && signal == 0; }
  bool operator==(const ExitStatus&) const = default;
};

class ProcessEnd;

class Subprocess {
 public:
  // On the loop's thread, inside run(), which it holds up until the program runs: a millisecond or so. Errors of
  // execve(2), once for all: ENOENT, EACCES, ENOEXEC, E2BIG; of the directory, of fds that are not open (EBADF);
  // EMFILE, EAGAIN, ENOMEM. EINVAL: no program, a NUL in a text, a change of the environment without a name, errors'
  // output() elsewhere. Trouble::kLoopStopped. Then there is no process.
  static Result<Subprocess> start(Loop& loop, const Command& command, const SubprocessOptions& options = {});

  // Asserts that it is a stream, not moved out. They belong to the Subprocess, but one may be moved out, and then ends
  // as any Stream, also after the Subprocess. input().shutdown_send() is the end of the child's input; its write()
  // fails with EPIPE or ECONNRESET once the child has closed it, or is gone. Output ends when nobody has its other end
  // any more: a grandchild may, after the child's end.
  Stream& input() { return stream(0); }
  Stream& output() { return stream(1); }
  Stream& errors() { return stream(2); }

  // Result<ExitStatus>, any number of times, and of tasks at once; it can be given to select(). ECHILD: somebody else
  // reaped it. The errors of Watch::OnError, where the engine cannot tell when it ends. It need not have read nor
  // written everything. The first of several tasks that are resumed may destroy the Subprocess: the others have their
  // answer. While one still waits that is asserted.
  ProcessEnd wait();
  // Sends a signal; nothing once the child has ended, so that it cannot reach anybody else. EPERM: the child has
  // changed its user, though others in its group may have got the signal; EINVAL.
  Result<void> signal(int number);
  // Asks it to end (SIGTERM, and SIGCONT, for one that is stopped does not hear it), kills it (SIGKILL) if it has not
  // after `grace`, and waits. As wait(), and what signal() fails with. When this await is cancelled or too late, it was
  // asked, and perhaps killed.
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

  detail::ChildProcess& child_;                 // may be gone once end_ is set
  std::optional<Result<ExitStatus>> end_ = {};  // of a wait that was queued
};

}  // namespace peal
