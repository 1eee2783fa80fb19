// SPDX-License-Identifier: BSD-3-Clause
// An fd that a loop closes is closed for every thread: another thread may get the same number next.
#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include <peal/base/fd.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

struct Unheard final : StreamEvents {
  void on_connected(std::error_code) override {}
  void on_received(Buffer& bytes) override { bytes.clear(); }
  void on_receive_end(std::error_code) override {}
  void on_send_failed(std::error_code) override {}
  void on_sent(size_t) override {}
  void on_closed() override {}
  void on_detached(LooseStream) override {}
};

class LoopFdsTest : public test::LoopEngineTest {};
PEAL_TEST_ON_EVERY_ENGINE(LoopFdsTest);

// Here only the kernel orders the two threads, as if one thread's timer gets the fd number of another thread's closed
// socket. The thread sanitizer sees no other ordering, so it must have seen the close of that number.
TEST_P(LoopFdsTest, number_of_a_closed_socket_is_free_for_other_threads) {
  const Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  Unheard unheard;
  test::LoopThread thread(options());
  Loop& loop = thread.loop();
  std::atomic<int> number = -1;
  loop.post([&] {
    auto [own, peer] = test::socket_pair();
    const int fd = own.get();
    loop.engine().close(loop.engine().adopt(LooseStream(std::move(own)), unheard));
    number.store(fd, std::memory_order_relaxed);
  });
  while (number.load(std::memory_order_relaxed) < 0) std::this_thread::yield();
  const int freed = number.load(std::memory_order_relaxed);
  while (::fcntl(freed, F_GETFD) >= 0) std::this_thread::yield();

  const Fd again(::fcntl(timer.get(), F_DUPFD_CLOEXEC, freed));
  ASSERT_EQ(again.get(), freed);
  uint64_t expirations = 0;
  EXPECT_EQ(::read(again.get(), &expirations, sizeof expirations), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace peal
