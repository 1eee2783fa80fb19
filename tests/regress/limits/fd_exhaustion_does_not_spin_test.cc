// SPDX-License-Identifier: BSD-3-Clause
// If a process is out of fds, accept fails with EMFILE while the listener stays readable. Other servers then spin at
// 100 % CPU, write millions of log lines, or abort. In peal new clients are disconnected, the loop sleeps, existing
// connections are served, and accepting continues when there are fds again.
#include <sys/resource.h>

#include <deque>

#include <peal/base/log.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

Duration cpu_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class FdExhaustionDoesNotSpin : public test::NetTest {};

TEST_P(FdExhaustionDoesNotSpin, while_clients_connect) {
  constexpr int kClients = 60;
  FdExhaustion famine;
  std::atomic<int> log_lines = 0;
  auto server = serve(test::echoing());
  set_log_sink([&](const LogRecord&) { ++log_lines; });
  RawPeer connected = connect_peer();
  connected.send("ping");
  ASSERT_TRUE(hears_all(connected, "ping"));
  std::deque<RawPeer> clients(kClients);
  famine.fill();
  // The test's thread sleeps until the clients are disconnected, so the CPU time that is measured is the loop's.
  const uint64_t waits_before = ask([&] { return loop().engine().stats().waits; });
  const Duration cpu_before = cpu_time();
  const TimePoint begin = monotonic_now();
  for (RawPeer& client : clients) client.connect(address());
  uint64_t ticks = 0;
  ASSERT_TRUE(wait_until([&] {
    ++ticks;
    return std::ranges::none_of(clients, [](RawPeer& client) { return client.pump(); });
  }));
  const uint64_t waits = ask([&] { return loop().engine().stats().waits; }) - waits_before;
  EXPECT_LE(waits, ticks + 4 * kClients + 50) << "the loop spins";
  EXPECT_LE(cpu_time() - cpu_before, (monotonic_now() - begin) / 2 + std::chrono::milliseconds(200));
  EXPECT_LE(log_lines, 20);
  connected.send("pong");
  EXPECT_TRUE(hears_all(connected, "pingpong"));
  clients.clear();
  famine.end();
  RawPeer late = connect_peer();
  late.send("at last");
  EXPECT_TRUE(hears_all(late, "at last"));
  set_log_sink([](const LogRecord&) {});
}

PEAL_TEST_ON_EVERY_ENGINE(FdExhaustionDoesNotSpin);

}  // namespace
}  // namespace peal
