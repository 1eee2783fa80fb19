// SPDX-License-Identifier: BSD-3-Clause
// main_sub_processes (EpollReactorProcessPoolMS): main_sub_threads with processes, between which connections travel.
//
//   master: forks all, minds the signals and the dead
//   main process: epoll_wait ─> accept ──┬─ sendmsg(SCM_RIGHTS) ══ channel 0 ══> sub process 0: read, work, write
//   (--io-threads of them,               ├─ sendmsg(SCM_RIGHTS) ══ channel 1 ══> sub process 1: read, work, write
//    one inherited listener)             └─ ... in turn                          (--workers of them)
//
// Who accepts: the main processes. Who reads, computes and writes: the sub process that has the connection, to its end.
// Work changes hands once in a connection's life: a descriptor means nothing in another process, so the connection
// travels as a message over a unix socket, and the main closes its own copy. A sub has its channel in its epoll beside
// its connections. With --wait-for-readable the main waits for a connection's first bytes before it sends it.
//
// The master keeps both ends of every channel. When a sub dies its connections die with it and nobody else's; what was
// on its way waits in the channel for the one that takes its place. Channels that are full hold a main up, and clients
// then wait in the backlog.
//
// What it cannot do: what main_sub_threads cannot; and a sub without a free descriptor loses what is sent to it.
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

// The sending ends, used in turn.
class Subs {
 public:
  Subs(const Channels& channels, size_t first, const Stop& stop) : next_(first) {
    for (const SocketChannel& channel : channels) {
      sleeps_on_.push_back({.fd = channel.sends.get(), .events = POLLOUT, .revents = 0});
    }
    sleeps_on_.push_back({.fd = stop.fd(), .events = POLLIN, .revents = 0});
  }

  // To the next one that has room; sleeps while none has. ECANCELED: the stop was asked.
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
