// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/subprocess.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>
#include <optional>
#include <tuple>

#include <peal/base/assert.h>
#include <peal/process/parts/child_process.h>
#include <peal/process/parts/spawn.h>
#include <peal/sync/adopt_stream.h>

namespace peal {
namespace {

// Opens the fds for a child, and the Streams at this process's ends of them. Each fd is duplicated to a number above
// all numbers that the child will use. So posix_spawn(3) can move the fds into place without overwriting one of them.
class ChildFds {
 public:
  ChildFds(Loop& loop, const SubprocessOptions& options) : loop_(loop), options_(options) {}

  Result<void> open() {
    const Stdio standard[] = {options_.input, options_.output, options_.errors};
    for (size_t number = 0; number < std::size(standard); ++number) {
      if (const Result<void> added = add(number, standard[number]); !added) return added;
    }
    for (const int fd : options_.fds) {
      if (const Result<void> added = add_copy(fd); !added) return added;
    }
    return {};
  }
  std::span<const Fd> fds() const { return fds_; }

  detail::ChildProcess::Streams streams;

 private:
  Result<void> add(size_t number, Stdio what) {
    switch (what.kind()) {
      case Stdio::Kind::kStream: return add_stream(number);
      case Stdio::Kind::kInherited: return add_copy(static_cast<int>(number));
      case Stdio::Kind::kNull: return add_null();
      case Stdio::Kind::kFd: return add_copy(what.fd());
      case Stdio::Kind::kOutput: return number == 2 ? add_copy(fds_[1].get()) : fail(EINVAL);
    }
    return fail(EINVAL);
  }
  Result<void> add_null() {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    return null ? add_copy(null.get()) : fail(errno);
  }
  // Makes a socketpair(2): a Stream for this process and a blocking fd for the child, because programs expect blocking
  // fds.
  Result<void> add_stream(size_t number) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail(errno);
    const Fd childs(ends[1]);
    ConnectionOptions options = options_.stream;
    options.min_write_bytes = 0;
    Result<Stream> ours = adopt_stream(loop_, Fd(ends[0]), options);
    if (!ours) return std::unexpected(ours.error());
    streams[number].emplace(std::move(*ours));
    return add_copy(childs.get());
  }
  Result<void> add_copy(int fd) {
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(3 + options_.fds.size())));
    if (!copy) return fail(errno);
    fds_.push_back(std::move(copy));
    return {};
  }

  Loop& loop_;
  const SubprocessOptions& options_;
  std::vector<Fd> fds_;
};

Task<Result<ExitStatus>> stop_process(detail::ChildProcess& child, Duration grace) {
  if (const Result<void> asked = child.signal(SIGTERM); !asked) co_return std::unexpected(asked.error());
  std::ignore = child.signal(SIGCONT);
  const Result<ExitStatus> ended = co_await ProcessEnd(child).within(grace);
  if (ended || ended.error() != std::errc::timed_out) co_return ended;
  if (const Result<void> killed = child.signal(SIGKILL); !killed) co_return std::unexpected(killed.error());
  co_return co_await ProcessEnd(child);
}

}  // namespace

Result<Subprocess> Subprocess::start(Loop& loop, const Command& command, const SubprocessOptions& options) {
  if (!loop.mailbox()->open()) return fail(Trouble::kLoopStopped);
  PEAL_ASSERT(loop.in_loop(), "Subprocess::start() of a command of {} words is called outside its loop",
              command.arguments().size());
  ChildFds fds(loop, options);
  Result<void> ready = fds.open();
  Result<pid_t> pid = ready ? detail::spawn(command, fds.fds(), options) : std::unexpected(ready.error());
  if (!pid) return std::unexpected(pid.error());
  auto child = detail::ChildProcess::own(loop, *pid, options.own_group);
  if (!child) return std::unexpected(child.error());
  (*child)->streams = std::move(fds.streams);
  return Subprocess(std::move(*child));
}

Subprocess::Subprocess(std::unique_ptr<detail::ChildProcess> child) : child_(child.release()) {}

void Subprocess::Abandon::operator()(detail::ChildProcess* child) const {
  detail::ChildProcess::abandon(std::unique_ptr<detail::ChildProcess>(child));
}

Stream& Subprocess::stream(size_t number) {
  std::optional<Stream>& stream = child_->streams[number];
  PEAL_ASSERT(stream.has_value(), "descriptor {} of process {} is no stream", number, child_->pid());
  PEAL_ASSERT(static_cast<bool>(*stream), "stream {} of process {} was moved out", number, child_->pid());
  return *stream;
}

ProcessEnd Subprocess::wait() { return ProcessEnd(*child_); }
Result<void> Subprocess::signal(int number) { return child_->signal(number); }
Task<Result<ExitStatus>> Subprocess::stop(Duration grace) { return stop_process(*child_, grace); }
pid_t Subprocess::pid() const { return child_->pid(); }

bool ProcessEnd::await_ready() const { return child_.end().has_value(); }

Result<ExitStatus> ProcessEnd::await_resume() const {
  if (why_ != 0) return detail::failed(why_);
  return end_ ? *end_ : *child_.end();
}

detail::WaitList<ProcessEnd>& ProcessEnd::line() { return child_.waiting(); }

}  // namespace peal
