// SPDX-License-Identifier: BSD-3-Clause
// A worker dies with its master, because it asks the kernel for that (PR_SET_PDEATHSIG) when it is born. The kernel
// forgets it when a process changes its user: a worker that dropped root, as a service on port 80 does, went on
// accepting from sockets that nobody watched any more, for ever, and beside the workers of the next master.
//
// Changing the user takes root; without it there is nothing to drop.
#include <grp.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tests/support/master_rig.h>

namespace peal {
namespace {

constexpr uid_t kNobody = 65534;

bool drop_root() {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0;
}

// Serves as nobody; where `late`, drops root once it serves already.
int serve_as_nobody(Worker& worker, bool late) {
  if (!late) return drop_root() ? test::greet_and_echo(worker) : 3;
  Loop loop;
  Server server(loop,
                {.on_open = [](Connection& connection) { connection.send(fmt::format("0 1 1 {} 1\n", ::getpid())); }});
  loop.post([&worker] {
    if (!drop_root()) ::_exit(3);
    worker.die_with_master();
  });
  return worker.serve(loop, server);
}

void expect_end_of_worker(const Master::Work& work) {
  test::MasterProcess master(test::with_workers(1), work);
  const SocketAddress address = master.serving();
  ASSERT_TRUE(address.is_set());
  const test::WorkerClient client(address);
  ASSERT_GT(client.pid, 0);
  const test::UnrelatedProcess worker(client.pid);
  master.signal(SIGKILL);
  EXPECT_TRUE(worker.ends()) << "it outlives its master";
  ::kill(client.pid, SIGKILL);
}

TEST(WorkerThatDroppedRoot, dies_with_its_master) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  expect_end_of_worker([](Worker& worker) { return serve_as_nobody(worker, false); });
}

TEST(WorkerThatDroppedRoot, dies_with_its_master_where_it_served_before) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  expect_end_of_worker([](Worker& worker) { return serve_as_nobody(worker, true); });
}

}  // namespace
}  // namespace peal
