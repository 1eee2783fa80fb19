// SPDX-License-Identifier: BSD-3-Clause
// Tests watches of fds of the user's own on every engine, with real pipes.
#include <peal/loop/watch.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

constexpr Readiness kReads{.readable = true};
constexpr Readiness kWrites{.writable = true};

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

class WatchTest : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    loop = test::make_loop(options()).value();
    std::tie(near, far) = test::socket_pair();
  }
  void write(std::string_view bytes) {
    ASSERT_EQ(::write(far.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  static std::string read(int fd) {
    std::array<char, 4096> room{};
    const ssize_t got = ::read(fd, room.data(), room.size());
    return got > 0 ? std::string(room.data(), static_cast<size_t>(got)) : std::string();
  }

  Fd near;  // the end that is watched
  Fd far;
  std::unique_ptr<Loop> loop;
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(WatchTest);

TEST_P(WatchTest, watched_before_run_is_told_once_the_loop_runs) {
  std::string heard;
  const int fd = near.get();
  Watch watch(*loop, std::move(near), kReads, [&](Readiness ready) {
    EXPECT_EQ(ready, kReads);
    heard += read(fd);
    if (heard == "onetwo") {
      loop->stop();
    } else {
      write("two");
    }
  });
  write("one");
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(heard, "onetwo");
  EXPECT_TRUE(is_open(fd));
}

TEST_P(WatchTest, watched_inside_run_and_told_again_while_it_stays_ready) {
  int told = 0;
  std::optional<Watch> watch;
  loop->post([&] {
    watch.emplace(*loop, near.get(), kReads, [&](Readiness) {
      if (++told == 3) loop->stop();
    });
    write("x");
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, 3);
}

TEST_P(WatchTest, owned_fd_is_closed_after_its_watch_destroys_itself) {
  const int fd = near.get();
  auto watch = std::make_unique<std::optional<Watch>>();
  int told = 0;
  watch->emplace(*loop, std::move(near), kReads, [&, keep = std::make_unique<std::string>("alive")](Readiness) {
    ++told;
    watch->reset();
    EXPECT_EQ(*keep, "alive");
    EXPECT_TRUE(loop->engine().name() == "sim" || is_open(fd));
    loop->post([&] { loop->post([&] { loop->stop(); }); });
  });
  write("x");
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(is_open(fd));
}

TEST_P(WatchTest, borrowed_fd_may_be_closed_once_stop_says_so) {
  const int fd = near.get();
  Watch watch(*loop, fd, kReads, [](Readiness) { ADD_FAILURE() << "called though stopped"; });
  loop->post([&] {
    write("x");
    watch.stop([&] {
      near.reset();
      loop->stop();
    });
    EXPECT_TRUE(is_open(fd));
  });
  ASSERT_TRUE(loop->run());
  EXPECT_FALSE(is_open(fd));
}

TEST_P(WatchTest, stopped_before_run_is_done_at_once) {
  bool done = false;
  Watch watch(*loop, near.get(), kReads, [](Readiness) { ADD_FAILURE() << "called though stopped"; });
  watch.stop([&] { done = true; });
  EXPECT_TRUE(done);
  write("x");
  loop->post([&] { loop->post([&] { loop->stop(); }); });
  ASSERT_TRUE(loop->run());
}

TEST_P(WatchTest, stop_is_done_at_the_end_of_run_at_the_latest) {
  bool done = false;
  std::optional<Watch> watch;
  loop->post([&] {
    watch.emplace(*loop, near.get(), kReads, [](Readiness) {});
    watch->stop([&] { done = true; });
    loop->stop();
  });
  ASSERT_TRUE(loop->run());
  EXPECT_TRUE(done);
}

TEST_P(WatchTest, interest_changes_inside_its_own_callback) {
  std::string order;
  std::optional<Watch> watch;
  watch.emplace(*loop, near.get(), kWrites, [&](Readiness ready) {
    if (ready.writable) {
      EXPECT_FALSE(ready.readable);
      order += "w";
      watch->set_interest(order == "w" ? kReads : Readiness{});
      if (order == "w") return write("x");
      loop->post([&] { loop->post([&] { loop->stop(); }); });
      return;
    }
    order += "r";
    EXPECT_EQ(read(near.get()), "x");
    watch->set_interest({.readable = true, .writable = true});
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "wrw");
  EXPECT_EQ(watch->interest(), Readiness{});
}

TEST_P(WatchTest, paused_watch_is_told_what_came_meanwhile) {
  std::optional<Watch> watch;
  bool paused = true;
  watch.emplace(*loop, near.get(), Readiness{}, [&](Readiness) {
    EXPECT_FALSE(paused);
    loop->stop();
  });
  loop->post([&] {
    write("x");
    loop->post([&] {
      paused = false;
      watch->set_interest(kReads);
    });
  });
  ASSERT_TRUE(loop->run());
}

TEST_P(WatchTest, hang_up_counts_as_readable) {
  far.reset();
  Watch watch(*loop, near.get(), kReads, [&](Readiness ready) {
    EXPECT_EQ(ready, kReads);
    loop->stop();
  });
  ASSERT_TRUE(loop->run());
}

TEST_P(WatchTest, throwing_callback_is_survived_and_called_again) {
  set_log_sink([](const LogRecord&) {});
  int told = 0;
  Watch watch(*loop, near.get(), kReads, [&](Readiness) {
    if (++told == 3) return loop->stop();
    throw std::runtime_error("no");
  });
  write("x");
  ASSERT_TRUE(loop->run());
  set_log_sink({});
  EXPECT_EQ(told, 3);
  EXPECT_EQ(loop->stats().exceptions, 2u);
}

TEST_P(WatchTest, watch_that_outlives_its_loop) {
  const int fd = near.get();
  std::optional<Watch> watch;
  std::optional<Watch> never_registered;
  watch.emplace(*loop, std::move(near), kReads, [](Readiness) {});
  loop->post([&] { loop->stop(); });
  ASSERT_TRUE(loop->run());
  never_registered.emplace(*loop, far.get(), kReads, [](Readiness) {});
  loop.reset();
  EXPECT_TRUE(is_open(fd));
  watch->set_interest(kWrites);
  watch.reset();
  EXPECT_FALSE(is_open(fd));
  bool done = false;
  never_registered->stop([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_P(WatchTest, file_that_appears_is_told_by_inotify) {
  const test::TemporaryFolder folder;
  Fd notices(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(notices.get(), folder.path("").c_str(), IN_CREATE), 0);
  const int fd = notices.get();
  Watch watch(*loop, std::move(notices), kReads, [&](Readiness) {
    EXPECT_NE(read(fd).find("news"), std::string::npos);
    loop->stop();
  });
  loop->post([&] { std::ofstream(folder.path("news")) << "x"; });
  ASSERT_TRUE(loop->run());
}

}  // namespace
}  // namespace peal
