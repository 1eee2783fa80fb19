// SPDX-License-Identifier: BSD-3-Clause
// Master: a process that serves nobody itself. It holds the listening sockets open, forks workers that accept from
// them, replaces the dead, and is told by signals what to do:
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
//   SIGTERM           drains: workers finish what is under way, for drain_time at most. A second one does not wait.
//   SIGQUIT, SIGINT   ends at once. (In nginx SIGTERM and SIGQUIT are the other way round. Here SIGTERM is the gentle
//                     one, because it is what systemd, Kubernetes and kill(1) send first.)
//   SIGHUP            reloads: workers of the new configuration start, and when all of them serve the old ones leave.
//                     If one of the new cannot serve, the old ones stay.
//                     Before that it does what SIGUSR1 does, so that a reload that fails has reopened the logs, too.
//   SIGUSR1           passes it on to all workers, which reopen their log files (Loop::on_signal()). In a worker that
//                     does not listen for it, it waits, and does nothing.
//   SIGUSR2           replaces the program: the image at the master's path runs as a new master, inherits the listening
//                     sockets, and when it serves the old master and its workers leave. If it cannot, they stay.
//
// Why no connection is lost: a socket's queue of clients belongs to the socket, which the master, and its successor,
// hold. A worker that dies takes along what it had accepted, and nothing else; whoever takes its place accepts what
// waits in its queue. A worker that makes room accepts what is in its queue before it stops, and stays until its
// clients are done. A worker dies with its master, however that ends (PR_SET_PDEATHSIG); so does one that drops root
// before it serves, and Worker::die_with_master() is for one that does so later.
//
// A Master is made before there are other threads, for it forks and changes the environment; one to a process.
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

// When the worker of a place ends and did not say that it leaves, or said so and then ended with an exit code that is
// not 0 or by a signal that was not the master's.
struct RespawnOptions {
  // The first death in a row is replaced at once, the second after first_pause, then twice as long each time.
  Duration first_pause = std::chrono::milliseconds(100);
  Duration longest_pause = std::chrono::seconds(10);  // clients of that place's queue wait no longer
  Duration quiet_while = std::chrono::seconds(30);    // a worker that lived so long was well: the row begins anew
  size_t most_deaths = 10;                            // in a row: the master gives up, and a service manager may try
};

// Of the times Duration::max() is never, 0 and less at once.
struct MasterOptions {
  size_t workers = 1;
  bool pin = false;                                // worker i keeps to the i-th of the processors this process may use
  Duration drain_time = std::chrono::seconds(30);  // for who leaves; afterwards its connections are cut off
  Duration start_timeout = std::chrono::seconds(30);  // until all new workers, or a new program's, serve
  Duration grace = std::chrono::seconds(1);           // beyond that, before who has not ended is killed
  RespawnOptions respawn = {};
  // SIGHUP: reads the configuration anew, in the master; workers that start from now on see what it changed. Answers
  // how many workers there shall be. An error: the configuration is bad, and nothing happens.
  std::function<Result<size_t>()> on_reload = {};
  // All workers serve for the first time. False: the master shall end (exit code 1).
  std::function<bool()> on_serving = {};
};

class Master {
 public:
  // What a worker does, in its own process, and with what exit code it ends.
  using Work = std::function<int(Worker&)>;

  // Takes the sockets of LISTEN_FDS and of a master that this one succeeds.
  // std::invalid_argument without workers.
  explicit Master(MasterOptions options);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // Listens on one more address for all workers, which find it under `name` (no colon). If sockets of that name were
  // inherited, or, while no other address was asked for, of any name, they take the place of `address`, all of them,
  // wherever they listen; a later call for the address of one finds it there. The answer is where it listens, or, where
  // there are several, the first. As Server::listen(); EINVAL for a name that is none, and where one of those that
  // were inherited takes no connections.
  Result<SocketAddress> listen(std::string_view address, const ListenOptions& options = {},
                               std::string_view name = "peal");
  // All addresses that were listened on, in that order, each once.
  std::vector<SocketAddress> addresses() const;
  // Those of LISTEN_FDS that no listen() has taken: also what one has refused because it takes no connections. run()
  // closes them.
  const std::vector<InheritedSocket>& inherited() const { return inherited_; }
  // Runs until a signal ends it. What main returns: 0, asked to end, or succeeded by another; 1, the first workers did
  // not all serve, or one place's died too often. The log says why.
  int run(const Work& work);

 private:
  Result<SocketAddress> open(std::string_view address, const ListenOptions& options, std::string_view name);
  Result<std::vector<detail::InheritedListener>> take_inherited(std::string_view name);

  MasterOptions options_;
  std::vector<InheritedSocket> inherited_;
  std::vector<int> inherited_with_files_;  // fds of those whose socket file is to be removed in the end
  Fd predecessor_;                         // where the master that started this one waits to hear that it serves
  std::vector<detail::SocketGroup> groups_;
};

}  // namespace peal
