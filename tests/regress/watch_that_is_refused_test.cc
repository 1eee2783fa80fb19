// SPDX-License-Identifier: BSD-3-Clause
// The engines accepted different watches. Two watches of one fd, or a watch of a regular file, worked on io_uring and
// ended the process on epoll. Two watches of one fd also ended it on poll and select. select refuses a watch whose fd
// is too high, but the watch was not told: no callback was called, stop() never finished, and an owned fd stayed open
// for ever. The resolver's sockets are watches, so they were lost in this way too, and a lookup waited for its timeout.
//
// Now any number of watches share an fd. If an fd cannot be watched, its watch is told why, in the same way on every
// engine.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/loop/watch.h>
#include <peal/net/resolver.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/loop_thread.h>
#include <tests/support/many_fds.h>

namespace peal {
namespace {

constexpr Readiness kReadable{.readable = true};

bool stands_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

class RefusedWatch : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (!IsSkipped()) loop = test::make_loop(options()).value();
  }
  // Runs the loop until done() is true, and returns true. Gives up after 10'000 posted tasks and returns false.
  bool run_until(std::function<bool()> done) {
    int turns = 0;
    std::move_only_function<void()> look = [&] {
      if (done() || ++turns == 10'000) return loop->stop();
      loop->post([&] { look(); });
    };
    loop->post([&] { look(); });
    EXPECT_TRUE(loop->run());
    return turns < 10'000;
  }
  // Watches `fd`, whose ownership it takes, and returns the error that the watch is told. Expects that the fd is closed
  // then and that nothing of the watch is left.
  std::error_code error_of_watching(Fd fd) {
    const int number = fd.get();
    const auto token = std::make_shared<int>();
    std::error_code told;
    int times = 0;
    bool done = false;
    {
      Watch watch(
          *loop, std::move(fd), kReadable, [token](Readiness) { ADD_FAILURE() << "a refused fd is never ready"; },
          [&, token](std::error_code error) {
            told = error;
            ++times;
            EXPECT_FALSE(stands_open(number));
          });
      EXPECT_FALSE(told) << "the watch was told inside its constructor";
      EXPECT_TRUE(run_until([&] { return times > 0; }));
      watch.set_interest({.readable = true, .writable = true});
      watch.stop([&] { done = true; });
    }
    EXPECT_EQ(times, 1);
    EXPECT_TRUE(done);
    EXPECT_EQ(token.use_count(), 1);
    return told;
  }

  std::unique_ptr<Loop> loop;
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(RefusedWatch);

TEST_P(RefusedWatch, several_watches_of_one_fd_are_all_told) {
  const auto [near, far] = test::socket_pair();
  int first = 0;
  int second = 0;
  int room = 0;
  std::optional<Watch> reads;
  reads.emplace(*loop, near.get(), kReadable, [&](Readiness) {
    // When one watch ends, the others stay. A watch may also stop watching and come back.
    if (++first == 2) reads.reset();
  });
  std::optional<Watch> reads_too;
  reads_too.emplace(*loop, near.get(), kReadable, [&](Readiness) {
    if (++second == 5) reads_too->set_interest({});
    if (second == 5) reads_too->set_interest(kReadable);
  });
  std::optional<Watch> writes;
  writes.emplace(*loop, near.get(), Readiness{.writable = true}, [&](Readiness ready) {
    EXPECT_FALSE(ready.readable);
    ++room;
    writes.reset();
  });
  ASSERT_EQ(::write(far.get(), "x", 1), 1);
  EXPECT_TRUE(run_until([&] { return second >= 10 && room == 1; }));
  EXPECT_EQ(first, 2);
}

TEST_P(RefusedWatch, regular_file_is_refused) {
  std::string path = testing::TempDir() + "refused-watch-XXXXXX";
  Fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  ::unlink(path.c_str());
  EXPECT_EQ(error_of_watching(std::move(file)), std::errc::operation_not_permitted);
}

TEST_P(RefusedWatch, folder_is_refused) {
  EXPECT_EQ(error_of_watching(Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC))), std::errc::operation_not_permitted);
}

// A service often has /dev/null in place of its input.
TEST_P(RefusedWatch, dev_null_is_refused) {
  EXPECT_EQ(error_of_watching(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))), std::errc::operation_not_permitted);
}

TEST_P(RefusedWatch, fd_that_is_not_open_is_refused) {
  std::error_code told;
  const Watch watch(
      *loop, -1, kReadable, [](Readiness) {},
      [&](std::error_code error) {
        told = error;
        loop->stop();
      });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, std::errc::bad_file_descriptor);
}

TEST_P(RefusedWatch, created_inside_run_is_told_after_its_constructor) {
  std::optional<Watch> watch;
  const Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::error_code told;
  loop->post([&] {
    watch.emplace(
        *loop, file.get(), kReadable, [](Readiness) {},
        [&](std::error_code error) {
          told = error;
          watch.reset();
          loop->stop();
        });
    EXPECT_FALSE(told);
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, std::errc::operation_not_permitted);
}

TEST_P(RefusedWatch, stopped_before_it_is_told_reports_only_the_stop) {
  const Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::string order;
  std::optional<Watch> watch;
  loop->post([&] {
    watch.emplace(*loop, file.get(), kReadable, [](Readiness) {}, [&](std::error_code) { order += "error"; });
    watch->stop([&] { order += "done"; });
    loop->post([&] { loop->post([&] { loop->stop(); }); });
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "done");
}

TEST(RefusedBySelect, fd_above_its_limit_is_closed_and_its_owner_told) {
  test::ManyFds fds;
  if (!fds.enough) GTEST_SKIP() << "this process may not open " << test::ManyFds::kFds << " fds";
  auto loop = Loop::make({.engine = "select"}).value();
  Fd low(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  Fd high(::fcntl(low.get(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  const int number = high.get();
  std::error_code told;
  bool closed = false;
  Watch watch(
      *loop, std::move(high), kReadable, [](Readiness) { ADD_FAILURE(); },
      [&](std::error_code error) {
        told = error;
        closed = !stands_open(number);
        loop->stop();
      });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, std::errc::too_many_files_open);
  EXPECT_TRUE(closed);
}

TEST(RefusedBySelect, lookup_fails_at_once_if_none_of_its_sockets_can_be_watched) {
  test::ManyFds fds;
  if (!fds.enough) GTEST_SKIP() << "this process may not open " << test::ManyFds::kFds << " fds";
  auto loop = Loop::make({.engine = "select"}).value();
  // No name server needs to answer at this address.
  const std::chrono::hours long_time(1);
  std::optional<Resolver> resolver;
  resolver.emplace(*loop, ResolverOptions{.servers = "127.0.0.1:9", .try_timeout = long_time});
  std::error_code told;
  loop->post([&] {
    fds.take_low_ones();
    const auto asked = resolver->resolve("somebody.test", 80, {.timeout = long_time}, [&](auto answer) {
      told = answer.error();
      loop->stop();
    });
    ASSERT_TRUE(asked);
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, Trouble::kNameServerFailed);
  resolver.reset();
  fds.give_back();
  // The lookup has left no socket open: the next fd is a low one, and no high fd is open.
  EXPECT_LT(Fd(::eventfd(0, EFD_CLOEXEC)).get(), FD_SETSIZE);
  for (int fd = FD_SETSIZE; fd < static_cast<int>(test::ManyFds::kFds); ++fd) EXPECT_FALSE(stands_open(fd)) << fd;
}

}  // namespace
}  // namespace peal
