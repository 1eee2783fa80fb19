// SPDX-License-Identifier: BSD-3-Clause
// What systemd, and whoever speaks like it, says to a service and hears from it: sockets that are open already
// (LISTEN_FDS, sd_listen_fds(3)), the state of the service (NOTIFY_SOCKET, sd_notify(3)) and its watchdog
// (WATCHDOG_USEC, sd_watchdog_enabled(3)). The protocols are a few variables and one datagram, so that they are spoken
// here without libsystemd. Without a manager, what is told goes nowhere. One thread.
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

// For a message: "fd 3 (dns.socket), a datagram socket at 127.0.0.1:53".
std::string describe(const InheritedSocket& socket);

// The sockets that this process was given by LISTEN_FDS: 3, 4, ... with their names of LISTEN_FDNAMES ("unknown" where
// there is none); none when LISTEN_PID is somebody else. Takes them: the variables are gone afterwards, so a second
// call has none. A number that is promised and not open is logged and left out, also where this process has opened
// something of its own under it, close-on-exec as all that peal opens. It changes the environment: before there are
// threads.
std::vector<InheritedSocket> take_listen_fds();
// Takes those named `name` out of `sockets`, in their order; where none is, all, if `or_all`. So one service that asks
// for one name is right both with FileDescriptorName= and without.
std::vector<InheritedSocket> take_named(std::vector<InheritedSocket>& sockets, std::string_view name, bool or_all);

class ServiceManager {
 public:
  // What the environment says now, and stays: children that the manager shall know may inherit it. Nothing is opened.
  ServiceManager();

  // Somebody listens to notify().
  bool present() const { return !notify_socket_.empty(); }
  // sd_notify(3)'s lines, as "READY=1\nSTATUS=all is well". Waits at most a second for a manager whose queue is full:
  // EAGAIN then. ECONNREFUSED, ENOENT: it is gone; ENOTSUP: an address that is no unix socket; ENAMETOOLONG.
  Result<void> notify(std::string_view lines) const;
  // The same, the failure being logged. Newlines of `status` become spaces.
  void ready(std::string_view status = {}) const;
  void reloading() const;  // with MONOTONIC_USEC, as Type=notify-reload wants it; ready() ends it
  void stopping() const;
  void status(std::string_view text) const;
  void watchdog() const;
  // This other process is the service from now on, and serves: in one message, for the next ones of this process, and
  // those that the other sent before, may not count (NotifyAccess=main).
  void succeeded_by(pid_t pid) const;

  // The service is killed when it is not heard of for so long; nothing: no watchdog, or not this process's.
  std::optional<Duration> watchdog_interval() const { return watchdog_interval_; }
  // From now on the loop itself says watchdog(), twice in each interval, as long as it turns; a loop that hangs says
  // nothing. On the loop's thread or before it runs; this outlives the loop.
  void watch(Loop& loop) const;

 private:
  void notify_or_log(std::string_view lines) const;

  std::string notify_socket_;
  std::optional<Duration> watchdog_interval_;
};

}  // namespace peal
