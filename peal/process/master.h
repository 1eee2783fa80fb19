// SPDX-License-Identifier: BSD-3-Clause
// Master: a process that serves no client itself. The master holds the listening sockets open, forks workers that
// accept from these sockets, replaces workers that die, and is controlled by signals:
//
//   int main() {
//     peal::MasterOptions options;
//     options.workers = 4;
//     peal::Master master(std::move(options));
//     if (!master.listen("127.0.0.1:8080")) return 1;
//     return master.run([](peal::Worker& worker) {
//       peal::Loop loop;
//       peal::Server server(loop, callbacks());
//       return worker.serve(loop, server);
//     });
//   }
//
//   SIGTERM           drains: workers finish what is in progress, for at most drain_time. A second SIGTERM ends the
//                     master at once.
//   SIGQUIT, SIGINT   ends at once. nginx uses SIGTERM and SIGQUIT the other way round. Here SIGTERM is the gentle
//                     signal, because systemd, Kubernetes and kill(1) send SIGTERM first.
//   SIGHUP            first does what SIGUSR1 does, so that the log files are reopened even if the reload fails. Then
//                     reloads: workers of the new configuration start, and when all of them serve, the old workers
//                     leave. If one of the new workers cannot serve, the old workers stay.
//   SIGUSR1           is passed on to all workers, which reopen their log files if they listen for the signal
//                     (Loop::on_signal()). In a worker that does not, the signal stays blocked and has no effect.
//   SIGUSR2           replaces the program: the executable at the master's path starts as a new master and inherits the
//                     listening sockets. When the new master serves, the old master and its workers leave. If the new
//                     master cannot serve, the old master and its workers stay.
//
// No waiting client is lost, because the queue of waiting clients belongs to the listening socket, and the master and
// its successor keep that socket open.
//   - A worker that dies loses only the connections that it had accepted. The worker that takes its place accepts the
//     clients that wait in the queue.
//   - A worker that makes room accepts all clients in its queue before it stops listening. It then stays until its
//     clients are done.
//   - A worker dies with its master, however the master ends (PR_SET_PDEATHSIG). This also holds for a worker that
//     drops root before it serves. A worker that drops root later must call Worker::die_with_master().
//
// A Master must be made before the process has other threads, because it forks and changes the environment. A process
// may have one Master. All functions of a Master must be called on one thread, which must live until run() returns: a
// worker dies with the thread that forked it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/process/service_manager.h>
#include <peal/process/worker.h>

namespace peal {

namespace detail {
struct InheritedListener;
class SocketGroup;
}  // namespace detail

// Says how soon a worker that died is replaced. A worker's place is a number from 0 to workers - 1. The end of a worker
// counts as a death in two cases:
//   - the worker had not reported that it leaves (Worker::leaving()) and the master had not asked it to leave;
//   - a worker of the serving generation was leaving, but ended with an exit code other than 0, or by a signal that was
//     not the master's SIGKILL.
struct RespawnOptions {
  // After the first death in a row the next worker starts at once, after the second death it starts after first_pause.
  // The pause doubles with each further death.
  Duration first_pause = std::chrono::milliseconds(100);
  // The upper limit of the pause. Clients in the queue of this place wait at most this long until the next worker
  // starts.
  Duration longest_pause = std::chrono::seconds(10);
  // A worker that lived at least this long counts as healthy: its death is the first of a new row.
  Duration quiet_while = std::chrono::seconds(30);
  // How many workers of one place may die one after another and still be replaced. At the next death the master drains
  // and run() returns 1, so that a service manager can restart the program.
  size_t most_deaths = 10;
};

// Every Duration of these options may be Duration::max(), which means never, or 0 or less, which means at once.
struct MasterOptions {
  size_t workers = 1;  // must be at least 1
  // True if worker i is pinned to the i-th of the processors that this process may use.
  bool pin = false;
  // The time that a leaving worker has to finish its connections. Connections that are left after this time are cut
  // off.
  Duration drain_time = std::chrono::seconds(30);
  // The time in which all workers of a new generation must report that they serve. If one does not, the whole new
  // generation is asked to leave again. A worker that replaces a dead or leaving one, and a new program (SIGUSR2), are
  // killed if they do not report in this time.
  Duration start_timeout = std::chrono::seconds(30);
  // The extra time after drain_time before a leaving worker is killed. When the master gets SIGINT or SIGQUIT, its
  // workers are killed after this time alone.
  Duration grace = std::chrono::seconds(1);
  RespawnOptions respawn = {};
  // Called in the master after SIGHUP, to read the configuration again. Workers that start later see the changes that
  // on_reload makes in the master's memory. Returns the new number of workers. If it returns an error or 0, the old
  // workers stay.
  std::function<Result<size_t>()> on_reload = {};
  // Called in the master once, when all workers serve for the first time. If it returns false, the master drains and
  // run() returns 1.
  std::function<bool()> on_serving = {};
};

class Master {
 public:
  // The function that a worker runs in its own process. Its result is the worker's exit code.
  using Work = std::function<int(Worker&)>;

  // Takes the inherited sockets: those of LISTEN_FDS, which a service manager or a predecessor of this master set.
  // Throws std::invalid_argument if `options.workers` is 0.
  explicit Master(MasterOptions options);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // Listens on one more address for all workers, which ask for its sockets by `name` (Worker::take_listening()).
  //   - If inherited sockets have this name, all of them are used, and `address` is ignored. They may listen at several
  //     addresses.
  //   - If no inherited socket has this name, the first call of listen() uses all inherited sockets.
  //   - A later call with the name and the address of an inherited socket that is used already opens nothing and
  //     succeeds.
  // Returns the address listened on, or the first if there are several. Fails as Server::listen() does, and with:
  //   EINVAL     `name` is empty or has a colon, or an inherited socket does not listen or is no stream socket
  //   ENOTSOCK   an inherited fd is no socket
  Result<SocketAddress> listen(std::string_view address, const ListenOptions& options = {},
                               std::string_view name = "peal");
  // Returns all addresses that are listened on, each once, in the order of the calls of listen().
  std::vector<SocketAddress> addresses() const;
  // Returns the inherited sockets that no listen() has taken. This includes sockets that made listen() fail, because
  // they do not accept connections. run() closes them all.
  const std::vector<InheritedSocket>& inherited() const { return inherited_; }
  // Forks the workers and runs until a signal ends the master. Returns the exit code for main(). If the code is 1, the
  // reason was logged:
  //   0   a signal asked the master to end, or a successor has taken over
  //   1   the first workers could not be started or did not all serve, on_serving returned false, or a worker and
  //       its replacements died more often in a row than most_deaths allows
  int run(const Work& work);

 private:
  Result<SocketAddress> open(std::string_view address, const ListenOptions& options, std::string_view name);
  Result<std::vector<detail::InheritedListener>> take_inherited(std::string_view name);

  MasterOptions options_;
  std::vector<InheritedSocket> inherited_;
  std::vector<int> inherited_with_files_;  // inherited fds whose socket file this master removes at its end
  Fd predecessor_;                         // the socket on which the predecessor waits for the report that this serves
  std::vector<detail::SocketGroup> groups_;
};

}  // namespace peal
