// SPDX-License-Identifier: BSD-3-Clause
// How a service talks to systemd, or to another service manager with the same protocols:
//   - sockets that the manager has opened already: LISTEN_FDS, sd_listen_fds(3);
//   - messages about the state of the service: NOTIFY_SOCKET, sd_notify(3);
//   - the watchdog: WATCHDOG_USEC, sd_watchdog_enabled(3).
//
// The protocols consist of a few environment variables and one datagram, so libsystemd is not needed. If there is no
// service manager, messages are dropped without an error. All of this may be used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>

namespace peal {

struct InheritedSocket {
  Fd fd;  // close-on-exec
  std::string name;
};

// Describes the socket for a log line or an error text, as "fd 3 (dns.socket), a datagram socket at 127.0.0.1:53".
std::string describe(const InheritedSocket& socket);

// Returns the sockets that the service manager passed to this process by LISTEN_FDS: fds 3, 4, ... Each has its name of
// LISTEN_FDNAMES, or "unknown" if it has none. Returns no sockets if LISTEN_PID is not this process.
//   - The environment variables are removed, so a second call returns nothing. Changing the environment is not safe
//     beside other threads, so call this before any thread starts.
//   - An fd that LISTEN_FDS promises but that is not open is logged and left out. An fd that is close-on-exec counts as
//     not open: it did not come through execve(2), so this process has opened it since.
std::vector<InheritedSocket> take_listen_fds();
// Moves the sockets named `name` out of `sockets` and returns them in their order. If no socket has the name and
// `or_all` is true, moves all sockets. So a service with one socket name works with and without FileDescriptorName= in
// its unit.
std::vector<InheritedSocket> take_named(std::vector<InheritedSocket>& sockets, std::string_view name, bool or_all);

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment. The variables stay set, so that child
  // processes can notify the manager as well. No fd is opened.
  ServiceManager();

  // Returns whether NOTIFY_SOCKET was set when this object was made. Only then does notify() send anything. The manager
  // may have ended since.
  bool present() const { return !notify_socket_.empty(); }
  // Sends lines of sd_notify(3) to the manager, as "READY=1\nSTATUS=all is well". Does nothing if present() is false.
  //   EAGAIN                 the manager's queue stayed full for a second, for which this call blocks
  //   ECONNREFUSED, ENOENT   the manager has ended
  //   ENOTSUP                NOTIFY_SOCKET is not the address of a unix socket
  //   ENAMETOOLONG           the address is too long for a unix socket
  // Errors of socket(2) and sendto(2) are returned, too.
  Result<void> notify(std::string_view lines) const;

  // ready(), reloading(), stopping(), status(), watchdog() and succeeded_by() send one message each by notify(), and
  // log a failure. Newlines in `status` and `text` become spaces.
  void ready(std::string_view status = {}) const;
  // Reports that a reload has begun; a later ready() reports its end. Sends MONOTONIC_USEC as well, which
  // Type=notify-reload requires.
  void reloading() const;
  void stopping() const;
  void status(std::string_view text) const;
  void watchdog() const;
  // Reports to the manager that process `pid` is the service's main process from now on, and that it serves. Both facts
  // are in one message, because with NotifyAccess=main the manager ignores every process except the main one. So the
  // manager ignores what `pid` sends before this message, and what this process sends afterwards.
  void succeeded_by(pid_t pid) const;

  // Returns the time after which the manager kills a service that has not called watchdog(). Returns nullopt if the
  // unit has no watchdog, or if WATCHDOG_PID names another process.
  std::optional<Duration> watchdog_interval() const { return watchdog_interval_; }
  // Makes the loop call watchdog() twice in each interval by a timer. A loop that hangs sends nothing, so the manager
  // notices that it hangs. Does nothing if present() is false or the unit has no watchdog. Must be called on the loop's
  // thread or before the loop runs. This object must outlive the loop.
  void watch(Loop& loop) const;

 private:
  void notify_or_log(std::string_view lines) const;

  std::string notify_socket_;
  std::optional<Duration> watchdog_interval_;
};

}  // namespace peal
