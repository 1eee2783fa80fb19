// SPDX-License-Identifier: BSD-3-Clause
// A worker that is asked to leave tells its master so and ends. If it had no clients, its message and its end reached
// the master in the same turn. The master looked at the end first and counted a death. An operator who asked the worker
// of an idle service to leave every 0.25 s read "the next starts in 400 ms" in the log. After ten times the master gave
// up and ended.
//
// The tests stop the master while its worker ends, so that it finds the message and the end at once.
#include <csignal>

#include <gtest/gtest.h>

#include <peal/process/master.h>
#include <tests/support/master_rig.h>

namespace peal {
namespace {

using test::MasterProcess;
using test::SharedCount;
using test::UnrelatedProcess;
using test::WorkerClient;

// Options with which the first death makes the master give up.
MasterOptions without_patience() {
  MasterOptions options = test::with_workers(1);
  options.respawn.most_deaths = 0;
  return options;
}

bool is_told_to_end() {
  sigset_t waiting;
  ::sigpending(&waiting);
  return ::sigismember(&waiting, SIGTERM) == 1;
}

void end_worker(const MasterProcess& master, pid_t worker, int number) {
  const UnrelatedProcess leaves(worker);
  master.stop();
  ASSERT_EQ(::kill(worker, number), 0);
  EXPECT_TRUE(leaves.ends());
  master.signal(SIGCONT);
}

TEST(WorkerAskedToLeave, is_no_death_although_it_has_ended_already) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    MasterProcess master(without_patience());
    const SocketAddress address = master.serving();
    pid_t last = 0;
    for (int round = 0; round < 3; ++round) {
      const pid_t worker = WorkerClient(address).pid;
      ASSERT_NE(worker, last) << "signal " << number << ", round " << round;
      last = worker;
      end_worker(master, worker, number);
    }
    EXPECT_NE(WorkerClient(address).pid, last);
    master.signal(SIGTERM);
    EXPECT_EQ(master.exit_code(), 0);
  }
}

TEST(WorkerAskedToLeave, is_no_death_if_its_drain_time_is_over) {
  MasterOptions options = without_patience();
  options.drain_time = std::chrono::milliseconds(1);
  MasterProcess master(std::move(options), [](Worker& worker) {
    Loop loop;
    Server server(loop,
                  {.on_open = [](Connection& connection) { connection.send(fmt::format("0 1 1 {} 1\n", ::getpid())); },
                   // The worker says that it leaves, and stays.
                   .on_message = [&worker](Connection&, Buffer&) { worker.leaving(); }});
    for (ListeningSocket& socket : worker.take_listening()) {
      if (!server.listen(std::move(socket.fd), socket.shared)) return 1;
    }
    worker.ready();
    return loop.run() ? 0 : 1;
  });
  const SocketAddress address = master.serving();
  WorkerClient first(address);
  const UnrelatedProcess worker(first.pid);
  first.peer.send("leave");
  EXPECT_TRUE(worker.ends()) << "the master did not kill the worker";
  EXPECT_NE(WorkerClient(address).pid, first.pid);
}

TEST(WorkerAskedToLeave, that_is_killed_instead_is_a_death) {
  MasterProcess master(without_patience());
  end_worker(master, WorkerClient(master.serving()).pid, SIGKILL);
  EXPECT_EQ(master.exit_code(), 1);
}

// Otherwise a worker that always says that it leaves, and then fails, would be started again and again without a pause.
TEST(WorkerAskedToLeave, that_ends_with_an_error_or_by_a_signal_is_a_death) {
  for (const bool by_signal : {false, true}) {
    const SharedCount starts;
    MasterOptions options = test::with_workers(1);
    options.respawn.most_deaths = 3;
    MasterProcess master(std::move(options), [&](Worker& worker) {
      const int mine = ++*starts;
      if (mine > 20) ::kill(::getppid(), SIGKILL);  // ends a master that does not give up
      worker.ready();
      worker.leaving();
      while (*starts == mine && !is_told_to_end()) ::sched_yield();  // waits until the master knows
      if (by_signal) ::raise(SIGKILL);
      return 3;
    });
    EXPECT_EQ(master.exit_code(), 1);
    EXPECT_LE(*starts, 20);
  }
}

TEST(WorkerAskedToLeave, that_exits_with_0_but_never_said_so_is_a_death) {
  MasterProcess master(without_patience(), [](Worker& worker) {
    worker.ready();
    return 0;
  });
  EXPECT_EQ(master.exit_code(), 1);
}

}  // namespace
}  // namespace peal
