// SPDX-License-Identifier: BSD-3-Clause
// Signals that coincide: a process other than the master asks a worker to leave, or a signal arrives while a reload or
// a replacement is in progress.
#include <csignal>
#include <deque>

#include <gtest/gtest.h>

#include <peal/process/master.h>
#include <tests/support/master_rig.h>

namespace peal {
namespace {

using test::find_client;
using test::greet_and_echo;
using test::MasterProcess;
using test::SharedCount;
using test::UnrelatedProcess;
using test::with_workers;
using test::WorkerClient;

TEST(MasterSignals, a_worker_that_is_told_to_leave_is_succeeded_while_it_still_has_clients) {
  for (const int number : {SIGTERM, SIGHUP}) {
    const SharedCount starts;
    MasterOptions options = with_workers(1);
    options.drain_time = std::chrono::hours(1);
    options.respawn.most_deaths = 0;  // if the end counted as a death, the master would give up
    MasterProcess master(std::move(options), [&starts](Worker& worker) {
      ++*starts;
      return greet_and_echo(worker);
    });
    const SocketAddress address = master.serving();
    pid_t last = 0;
    for (int round = 1; round <= 3; ++round) {
      WorkerClient stays(address);
      EXPECT_NE(stays.pid, last);
      last = stays.pid;
      const UnrelatedProcess worker(last);
      ASSERT_EQ(::kill(last, number), 0);
      if (number == SIGTERM) {
        EXPECT_TRUE(stays.cut_off()) << "it accepts nobody any more";
      }
      std::deque<WorkerClient> clients;
      find_client(clients, address, [last](const WorkerClient& client) { return client.pid != last; });
      if (number == SIGHUP) {
        EXPECT_TRUE(stays.served()) << "it makes room, and waits";
      }
      stays.peer.close();
      clients.clear();
      EXPECT_TRUE(worker.ends());
    }
    // The end of the last worker has started no further worker. Such a worker would have started before the reload is
    // done, so `starts` would count it.
    master.signal(SIGHUP);
    std::deque<WorkerClient> clients;
    find_client(clients, address, [](const WorkerClient& client) { return client.generation == 2; });
    EXPECT_EQ((*starts).load(), 5) << "the first, three successors, and the reload's";
    clients.clear();
    master.signal(SIGTERM);
    EXPECT_EQ(master.exit_code(), 0);
  }
}

TEST(MasterSignals, a_process_group_that_is_told_to_end_starts_nobody) {
  const SharedCount starts;
  MasterOptions options = with_workers(1);
  options.drain_time = std::chrono::hours(1);
  MasterProcess master(std::move(options), [&starts](Worker& worker) {
    ++*starts;
    return greet_and_echo(worker);
  });
  WorkerClient client(master.serving());
  // The master is stopped, so that the worker gets the signal before the master.
  master.stop();
  ASSERT_EQ(::kill(client.pid, SIGTERM), 0);
  EXPECT_TRUE(client.cut_off());
  master.signal(SIGTERM);
  master.signal(SIGCONT);
  client.peer.close();
  EXPECT_EQ(master.exit_code(), 0);
  EXPECT_EQ((*starts).load(), 1);
}

TEST(MasterSignals, workers_are_told_to_reopen_their_logs_also_by_a_reload_that_fails) {
  const SharedCount told;
  MasterOptions options = with_workers(2);
  options.on_reload = []() -> Result<size_t> { return fail(EINVAL); };
  MasterProcess master(std::move(options), [&told](Worker& worker) {
    Loop loop;
    Server server(loop, {});
    if (!loop.on_signal(SIGUSR1, [&told] { ++*told; })) return 1;
    return worker.serve(loop, server);
  });
  ASSERT_TRUE(master.serving().is_set());
  master.signal(SIGUSR1);
  while (*told < 2) ::sched_yield();
  master.signal(SIGHUP);
  while (*told < 4) ::sched_yield();
  master.signal(SIGTERM);
  EXPECT_EQ(master.exit_code(), 0);
}

TEST(MasterSignals, a_worker_that_knows_no_logs_is_not_ended_by_that) {
  MasterProcess master(with_workers(1));
  WorkerClient client(master.serving());
  master.signal(SIGUSR1);
  master.has_heard(SIGUSR1);
  EXPECT_TRUE(client.served());
  master.signal(SIGTERM);
  client.peer.close();
  EXPECT_EQ(master.exit_code(), 0);
}

TEST(MasterSignals, a_reload_asked_for_while_the_first_workers_start_is_done_afterwards) {
  const SharedCount starts;
  const SharedCount gate;
  MasterProcess master(with_workers(1), [&](Worker& worker) {
    ++*starts;
    while (*gate == 0) ::sched_yield();
    return greet_and_echo(worker);
  });
  while (*starts == 0) ::sched_yield();
  master.signal(SIGHUP);
  master.has_heard(SIGHUP);
  ++*gate;
  const SocketAddress address = master.serving();
  std::deque<WorkerClient> clients;
  find_client(clients, address, [](const WorkerClient& client) { return client.generation == 2; });
  clients.clear();
  master.signal(SIGTERM);
  EXPECT_EQ(master.exit_code(), 0);
}

TEST(MasterSignals, a_worker_told_to_leave_before_all_serve_ends_the_reload) {
  const SharedCount reloads;
  const SharedCount early;
  MasterOptions options = with_workers(1);
  options.start_timeout = std::chrono::hours(1);
  options.drain_time = std::chrono::milliseconds(10);
  options.on_reload = [&reloads]() -> Result<size_t> { return ++*reloads == 1 ? 2 : 1; };
  // The second of the two workers of the second generation never serves.
  MasterProcess master(std::move(options), [&early](Worker& worker) {
    while (worker.place() == 1) ::pause();
    if (worker.generation() == 2) *early = ::getpid();
    return greet_and_echo(worker);
  });
  const SocketAddress address = master.serving();
  master.signal(SIGHUP);
  while (*early == 0) ::sched_yield();
  const UnrelatedProcess worker(*early);
  ASSERT_EQ(::kill(*early, SIGTERM), 0);
  EXPECT_TRUE(worker.ends());
  master.signal(SIGHUP);
  std::deque<WorkerClient> clients;
  find_client(clients, address, [](const WorkerClient& client) { return client.generation == 3; });
  clients.clear();
  master.signal(SIGTERM);
  EXPECT_EQ(master.exit_code(), 0);
}

}  // namespace
}  // namespace peal
