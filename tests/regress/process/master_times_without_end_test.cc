// SPDX-License-Identifier: BSD-3-Clause
// Duration::max() means "never" in the options of a master. The sums of it and the current time overflowed. The master
// reported that the first workers "did not all serve in time", and it killed at once the workers that were to leave.
#include <csignal>
#include <deque>

#include <gtest/gtest.h>

#include <peal/process/master.h>
#include <tests/support/master_rig.h>

namespace peal {
namespace {

using test::find_client;
using test::WorkerClient;

MasterOptions without_end() {
  MasterOptions options = test::with_workers(1);
  options.drain_time = options.start_timeout = options.grace = Duration::max();
  options.respawn.first_pause = options.respawn.longest_pause = options.respawn.quiet_while = Duration::max();
  return options;
}

TEST(MasterTimesWithoutEnd, workers_start_and_leave) {
  test::MasterProcess master(without_end());
  const SocketAddress address = master.serving();
  ASSERT_TRUE(address.is_set()) << "the workers had no time to serve";
  WorkerClient old(address);
  master.signal(SIGHUP);
  std::deque<WorkerClient> fresh;
  const pid_t second =
      find_client(fresh, address, [](const WorkerClient& client) { return client.generation == 2; }).pid;
  EXPECT_TRUE(old.served()) << "the old worker was killed instead of draining";
  fresh.clear();
  const test::UnrelatedProcess victim(second);
  ASSERT_EQ(::kill(second, SIGKILL), 0);
  EXPECT_TRUE(victim.ends());
  WorkerClient third(address);
  EXPECT_NE(third.pid, second);
  EXPECT_TRUE(old.served());
  master.signal(SIGTERM);
  EXPECT_TRUE(third.cut_off()) << "the worker did not drain";
  old.peer.close();
  third.peer.close();
  EXPECT_EQ(master.exit_code(), 0);
}

}  // namespace
}  // namespace peal
