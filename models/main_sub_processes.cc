// SPDX-License-Identifier: BSD-3-Clause
// main_sub_processes (EpollReactorProcessPoolMS): main_sub_threads with processes, which send connections to each
// other.
//
//   master: forks all, minds the signals and the dead
//   main process: epoll_wait ─> accept ──┬─ sendmsg(SCM_RIGHTS) ══ channel 0 ══> sub process 0: read, work, write
//   (--io-threads of them,               ├─ sendmsg(SCM_RIGHTS) ══ channel 1 ══> sub process 1: read, work, write
//    one inherited listener)             └─ ... in turn                          (--workers of them)
//
// The main processes accept connections. Each connection is then sent to a sub process, which reads, computes and
// writes for it until the connection ends. So a connection moves to another process only once. An fd has no meaning in
// another process. So the connection is sent as a message over a unix socket, the channel, and the main process closes
// its own copy. The epoll of a sub process contains its channel and its connections. With --wait-for-readable, the main
// process sends a connection only when its first bytes have arrived.
//
// The master keeps both ends of every channel open. If a sub process dies, only the connections that it serves are
// lost. Connections that are still in its channel wait there for the process that replaces it. If all channels are
// full, a main process waits, and clients wait in the backlog.
//
// Limits: those of main_sub_threads. In addition, a sub process without a free fd loses the connections that are sent
// to it.
#include <poll.h>

#include <cerrno>
#include <utility>
#include <vector>

#include <models/common/reactor/epoll_reactor.h>
#include <models/common/reactor/socket_channel.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>

namespace peal::models {
namespace {

using Channels = std::vector<SocketChannel>;

Result<Channels> make_channels(size_t count) {
  Channels channels;
  for (size_t i = 0; i < count; ++i) {
    Result<SocketChannel> channel = SocketChannel::make();
    if (!channel) return std::unexpected(channel.error());
    channels.push_back(std::move(*channel));
  }
  return channels;
}

// Sends accepted connections to the sub processes, round-robin.
class Subs {
 public:
  Subs(const Channels& channels, size_t first, const Stop& stop) : next_(first) {
    for (const SocketChannel& channel : channels) {
      sleeps_on_.push_back({.fd = channel.sends.get(), .events = POLLOUT, .revents = 0});
    }
    sleeps_on_.push_back({.fd = stop.fd(), .events = POLLIN, .revents = 0});
  }

  // Sends a connection to the next sub process whose channel has room. A channel is a unix socket to a sub process. The
  // channel of a sub process that has died still accepts connections, because the master keeps both ends open. If no
  // channel has room, sleeps until one of them has room. If too many sockets are on their way (ETOOMANYREFS), pauses
  // for kRoomPause and tries the next channel. Fails with ECANCELED if no channel has taken the connection and a stop
  // is requested. Fails with any other error of sendmsg(2).
  Result<void> send(const Fd& socket) {
    for (;;) {
      for (size_t tried = 0; tried < count(); ++tried) {
        const Result<void> sent = send_socket(sleeps_on_[next_++ % count()].fd, socket.get());
        if (sent) return {};
        if (sent.error() == std::errc::resource_unavailable_try_again) continue;
        if (sent.error().value() != ETOOMANYREFS) return sent;
        wait_for_room();
      }
      ::poll(sleeps_on_.data(), sleeps_on_.size(), -1);
      if (sleeps_on_.back().revents != 0) return fail(ECANCELED);
    }
  }

 private:
  size_t count() const { return sleeps_on_.size() - 1; }

  std::vector<pollfd> sleeps_on_;
  size_t next_;
};

Result<void> be_main(ModelRun& run, const Channels& channels, size_t index) {
  const Result<Stop> stop = Stop::make();
  if (!stop) return std::unexpected(stop.error());
  Subs subs(channels, index, *stop);
  auto reactor = EpollReactor::make(run.options, *stop, run.statistics);
  if (!reactor) return std::unexpected(reactor.error());
  const HandOverWhen when = run.options.wait_for_readable ? HandOverWhen::kReadable : HandOverWhen::kAccepted;
  const auto send = [&subs](const Fd& socket) { return subs.send(socket); };
  if (auto listening = (*reactor)->listen(run.listener.get(), send, when); !listening) return listening;
  return (*reactor)->run();
}

Result<void> be_sub(ModelRun& run, const SocketChannel& channel) {
  const Result<Stop> stop = Stop::make();
  if (!stop) return std::unexpected(stop.error());
  auto reactor = EpollReactor::make(run.options, *stop, run.statistics);
  if (!reactor) return std::unexpected(reactor.error());
  if (auto receiving = (*reactor)->receive(channel.receives.get()); !receiving) return receiving;
  return (*reactor)->run();
}

}  // namespace

Result<void> main_sub_processes(ModelRun& run) {
  const size_t mains = run.options.io_threads;
  const Result<Channels> channels = make_channels(run.options.workers);
  if (!channels) return std::unexpected(channels.error());
  return run_worker_processes(run, mains + channels->size(), WorkerEnd::kByStop, [&](const WorkerStart& start) {
    return start.index < mains ? be_main(run, *channels, start.index) : be_sub(run, (*channels)[start.index - mains]);
  });
}

}  // namespace peal::models
