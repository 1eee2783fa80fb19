// SPDX-License-Identifier: BSD-3-Clause
// Masters with real workers: a test forks the master, the master forks its workers, and clients see which one serves.
#include <peal/process/master.h>

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tests/support/engines/socket_pair.h>
#include <tests/support/master_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

using test::find_client;
using test::greet_and_echo;
using test::MasterProcess;
using test::UnrelatedProcess;
using test::with_workers;
using test::WorkerClient;

TEST(Master, workers_serve_and_drain_on_sigterm) {
  MasterProcess master(with_workers(3));
  const SocketAddress address = master.serving();
  std::deque<WorkerClient> clients;
  std::set<int> pids;
  for (size_t place = 0; place < 3; ++place) {
    pids.insert(find_client(clients, address, [&](const WorkerClient& client) { return client.place == place; }).pid);
  }
  EXPECT_EQ(pids.size(), 3U);
  EXPECT_FALSE(pids.contains(master.pid()));
  for (WorkerClient& client : clients) EXPECT_TRUE(client.served());
  std::deque<UnrelatedProcess> workers(pids.begin(), pids.end());
  master.signal(SIGTERM);
  for (WorkerClient& client : clients) {
    EXPECT_TRUE(client.cut_off());
    client.peer.close();
  }
  EXPECT_EQ(master.exit_code(), 0);
  for (const UnrelatedProcess& worker : workers) EXPECT_TRUE(worker.ends());
}

TEST(Master, names_that_name_no_socket_are_refused) {
  Master master(MasterOptions{});
  for (const std::string_view name : {"", "a:b"}) {
    const Result<SocketAddress> listening = master.listen("127.0.0.1:0", {}, name);
    ASSERT_FALSE(listening);
    EXPECT_EQ(listening.error(), errno_code(EINVAL));
  }
  EXPECT_THROW(Master(MasterOptions{.workers = 0}), std::invalid_argument);
}

TEST(Master, a_worker_that_is_killed_takes_its_own_connections_and_no_others) {
  MasterProcess master(with_workers(2));
  const SocketAddress address = master.serving();
  std::deque<WorkerClient> clients;
  WorkerClient& lost = find_client(clients, address, [](const WorkerClient& client) { return client.place == 0; });
  const WorkerClient& other =
      find_client(clients, address, [](const WorkerClient& client) { return client.place == 1; });
  const UnrelatedProcess victim(lost.pid);
  ASSERT_EQ(::kill(lost.pid, SIGKILL), 0);
  ASSERT_TRUE(victim.ends()) << "until then it accepts";
  std::deque<WorkerClient> next;
  const WorkerClient& heir = find_client(next, address, [](const WorkerClient& client) { return client.place == 0; });
  EXPECT_NE(heir.pid, lost.pid);
  for (WorkerClient& client : clients) {
    EXPECT_EQ(client.pid == other.pid ? client.served() : client.cut_off(), true) << "of worker " << client.place;
  }
  for (WorkerClient& client : next) EXPECT_TRUE(client.served());
}

TEST(Master, reload_brings_new_workers_and_old_ones_stay_with_their_clients) {
  MasterOptions options = with_workers(2);
  size_t workers = 2;
  options.on_reload = [&workers]() -> Result<size_t> { return ++workers; };
  MasterProcess master(std::move(options));
  const SocketAddress address = master.serving();
  std::deque<WorkerClient> old;
  find_client(old, address, [](const WorkerClient& client) { return client.place == 0; });
  find_client(old, address, [](const WorkerClient& client) { return client.place == 1; });
  master.signal(SIGHUP);
  std::deque<WorkerClient> fresh;
  find_client(fresh, address, [](const WorkerClient& client) { return client.generation == 2 && client.count == 3; });
  for (WorkerClient& client : old) EXPECT_TRUE(client.served());
  const UnrelatedProcess worker(old.front().pid);
  old.clear();
  std::erase_if(fresh, [](const WorkerClient& client) { return client.generation == 1; });
  EXPECT_TRUE(worker.ends());
  for (WorkerClient& client : fresh) EXPECT_TRUE(client.served());
  master.signal(SIGTERM);
  fresh.clear();
  EXPECT_EQ(master.exit_code(), 0);
}

TEST(Master, fewer_workers_accept_from_the_sockets_of_more) {
  MasterOptions options = with_workers(4);
  options.on_reload = []() -> Result<size_t> { return 1; };
  MasterProcess master(std::move(options));
  const SocketAddress address = master.serving();
  std::deque<WorkerClient> clients;
  std::deque<UnrelatedProcess> before;
  for (size_t place = 0; place < 4; ++place) {
    before.emplace_back(
        find_client(clients, address, [&](const WorkerClient& client) { return client.place == place; }).pid);
  }
  clients.clear();
  master.signal(SIGHUP);
  for (const UnrelatedProcess& worker : before) EXPECT_TRUE(worker.ends());
  // The kernel spreads the clients by hash over all four sockets.
  for (int i = 0; i < 40; ++i) EXPECT_EQ(WorkerClient(address).generation, 2);
}

TEST(Master, what_cannot_be_reloaded_leaves_everything_as_it_was) {
  for (const bool bad_configuration : {true, false}) {
    MasterOptions options = with_workers(1);
    const auto [tried, trying] = test::pipe_ends();
    options.on_reload = [&]() -> Result<size_t> {
      EXPECT_EQ(::write(trying.get(), "x", 1), 1);
      if (bad_configuration) return fail(EINVAL);
      return 2;
    };
    // If the configuration is good, the second of the two new workers fails.
    MasterProcess master(std::move(options),
                         [](Worker& worker) { return worker.place() == 1 ? 7 : greet_and_echo(worker); });
    const SocketAddress address = master.serving();
    WorkerClient client(address);
    master.signal(SIGHUP);
    char c = 0;
    ASSERT_TRUE(readable(tried.get()));
    ASSERT_EQ(::read(tried.get(), &c, 1), 1);
    EXPECT_TRUE(client.served());
    std::deque<WorkerClient> later;
    EXPECT_EQ(find_client(later, address, [](const WorkerClient& each) { return each.generation == 1; }).pid,
              client.pid);
    master.signal(SIGQUIT);
    EXPECT_EQ(master.exit_code(), 0);
  }
}

TEST(Master, first_workers_that_cannot_serve_are_the_end) {
  MasterProcess master(with_workers(3),
                       [](Worker& worker) { return worker.place() == 2 ? 7 : greet_and_echo(worker); });
  EXPECT_FALSE(master.serving().is_set());
  EXPECT_EQ(master.exit_code(), 1);
}

TEST(Master, workers_that_do_not_serve_in_time_are_the_end) {
  MasterOptions options = with_workers(1);
  options.start_timeout = options.drain_time = milliseconds(10);
  MasterProcess master(std::move(options), [](Worker&) {
    for (;;) ::pause();
    return 0;
  });
  EXPECT_FALSE(master.serving().is_set());
  EXPECT_EQ(master.exit_code(), 1);
}

TEST(Master, a_worker_that_dies_again_and_again_is_given_up) {
  MasterOptions options = with_workers(1);
  options.respawn.longest_pause = milliseconds(2);
  options.respawn.most_deaths = 4;
  MasterProcess master(std::move(options), [](Worker& worker) {
    worker.ready();
    return 3;
  });
  EXPECT_EQ(master.exit_code(), 1);
}

TEST(Master, sigquit_and_a_second_sigterm_do_not_wait_for_clients) {
  for (const std::vector<int>& signals : {std::vector{SIGQUIT}, {SIGINT}, {SIGTERM, SIGTERM}}) {
    MasterOptions options = with_workers(2);
    options.drain_time = std::chrono::hours(1);
    MasterProcess master(std::move(options));
    WorkerClient client(master.serving());
    for (const int number : signals) {
      master.signal(number);
      if (number == SIGTERM) {
        EXPECT_TRUE(client.cut_off()) << "which it does not answer";
      }
    }
    EXPECT_EQ(master.exit_code(), 0);
  }
}

TEST(Master, a_worker_that_does_not_hear_is_killed_when_its_time_is_over) {
  MasterOptions options = with_workers(1);
  options.drain_time = milliseconds(10);
  MasterProcess master(std::move(options), [](Worker& worker) {
    worker.ready();
    for (;;) ::pause();
    return 0;
  });
  EXPECT_TRUE(master.serving().is_set());
  master.signal(SIGTERM);
  EXPECT_EQ(master.exit_code(), 0);
}

TEST(Master, a_worker_that_hangs_before_it_serves_is_replaced) {
  // On a busy machine the first worker may be late as well, which ends the master. The test then tries again with a
  // longer timeout.
  for (milliseconds timeout(100); timeout < std::chrono::seconds(60); timeout *= 2) {
    MasterOptions options = with_workers(1);
    options.start_timeout = timeout;
    const test::SharedCount shared;
    std::atomic<int>& starts = *shared;
    MasterProcess master(std::move(options), [&starts](Worker& worker) {
      while (starts.fetch_add(1) == 1) ::pause();
      return greet_and_echo(worker);
    });
    const SocketAddress address = master.serving();
    if (!address.is_set()) continue;
    const pid_t first = WorkerClient(address).pid;
    const UnrelatedProcess victim(first);
    ASSERT_EQ(::kill(first, SIGKILL), 0);
    ASSERT_TRUE(victim.ends());
    std::deque<WorkerClient> clients;
    EXPECT_TRUE(find_client(clients, address, [](const WorkerClient& client) { return client.pid != 0; }).served());
    while (starts.load() < 3) ::sched_yield();
    return;
  }
  ADD_FAILURE() << "the first worker never serves";
}

TEST(Master, workers_die_with_their_master) {
  MasterProcess master(with_workers(2));
  WorkerClient client(master.serving());
  const UnrelatedProcess worker(client.pid);
  master.signal(SIGKILL);
  EXPECT_EQ(master.exit_code(), -SIGKILL);
  EXPECT_TRUE(worker.ends());
  EXPECT_TRUE(client.cut_off());
}

TEST(Master, workers_share_a_unix_socket_whose_file_goes_with_the_master) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("peal-master-{}", ::getpid())).string();
  MasterProcess master(with_workers(2), greet_and_echo, "unix:" + path);
  const SocketAddress address = master.serving();
  WorkerClient first(address);
  ASSERT_EQ(::kill(first.pid, SIGKILL), 0);
  EXPECT_TRUE(first.cut_off());
  EXPECT_TRUE(WorkerClient(address).served());
  master.signal(SIGTERM);
  EXPECT_EQ(master.exit_code(), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Master, a_pinned_worker_has_one_processor) {
  MasterOptions options = with_workers(2);
  options.pin = true;
  MasterProcess master(std::move(options));
  EXPECT_EQ(WorkerClient(master.serving()).processors, 1);
}

TEST(Master, a_port_that_is_taken_is_an_error_though_it_could_be_shared) {
  Master first(with_workers(1));
  const SocketAddress address = first.listen("127.0.0.1:0").value();
  Master second(with_workers(1));
  EXPECT_EQ(second.listen(address.to_string()).error(), std::errc::address_in_use);
  EXPECT_EQ(second.listen("localhost").error(), Trouble::kNoPort);
}

}  // namespace
}  // namespace peal
