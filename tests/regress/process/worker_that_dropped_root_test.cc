// SPDX-License-Identifier: BSD-3-Clause
// A worker dies with its master, because it asks the kernel for this when it starts (PR_SET_PDEATHSIG). The kernel
// forgets it when a process changes its user. So a worker that had dropped root, as a service on port 80 does, survived
// its master. It accepted connections for ever on sockets that nobody watched any more, beside the workers of the next
// master.
//
// Only root can change its user, so without root these tests are skipped.
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

// Serves as the user nobody. If `late` is true, drops root only when it already serves.
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
  EXPECT_TRUE(worker.ends()) << "the worker outlived its master";
  ::kill(client.pid, SIGKILL);
}

TEST(WorkerThatDroppedRoot, dies_with_its_master) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change its user";
  expect_end_of_worker([](Worker& worker) { return serve_as_nobody(worker, false); });
}

TEST(WorkerThatDroppedRoot, dies_with_its_master_if_it_drops_root_while_it_serves) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change its user";
  expect_end_of_worker([](Worker& worker) { return serve_as_nobody(worker, true); });
}

}  // namespace
}  // namespace peal
