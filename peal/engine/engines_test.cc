// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/engines.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>

namespace peal {
namespace {

// Runs `body` on a thread on which io_uring_setup(2) fails with `error`: a seccomp filter binds the thread that loads
// it.
void without_io_uring(int error, const std::function<void()>& body) {
  std::thread([&] {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{.len = static_cast<unsigned short>(std::size(code)), .filter = code};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0) << errno;
    body();
  }).join();
}

// The lines logged while it lives.
class CapturedLog {
 public:
  CapturedLog() {
    set_log_sink([this](const LogRecord& record) { lines.emplace_back(record.text); });
  }
  ~CapturedLog() { set_log_sink({}); }
  std::vector<std::string> lines;
};

TEST(Engines, names_are_all_known_and_auto_is_not_one) {
  EXPECT_THAT(engine_names(), testing::ElementsAre("io_uring", "epoll", "poll", "select", "sim"));
  for (std::string_view name : engine_names()) {
    auto engine = make_engine(name);
    if (!why_unsupported(name).empty()) continue;
    ASSERT_TRUE(engine.has_value());
    EXPECT_EQ((*engine)->name(), name);
  }
}

TEST(Engines, unknown_name_is_an_error_with_a_reason) {
  auto engine = make_engine("kqueue");
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error(), Trouble::kUnsupportedEngine);
  EXPECT_EQ(why_unsupported("kqueue"), "there is no engine called 'kqueue'");
  EXPECT_FALSE(make_engine("").has_value());
}

TEST(Engines, auto_takes_the_first_that_runs_here) {
  auto engine = make_engine("auto");
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ(why_unsupported("auto"), "");
  EXPECT_EQ((*engine)->name(), why_unsupported("io_uring").empty() ? "io_uring" : "epoll");
}

// In a process of its own: the answer is found once for each.
TEST(EnginesDeathTest, auto_falls_back_with_one_line_where_io_uring_is_forbidden) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto fall_back = [] {
    without_io_uring(EPERM, [] {
      CapturedLog log;
      EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("forbidden"));
      for (int i = 0; i < 3; ++i) {
        auto engine = make_engine("auto");
        ASSERT_TRUE(engine.has_value());
        EXPECT_EQ((*engine)->name(), "epoll");
      }
      ASSERT_EQ(log.lines.size(), 1U);
      EXPECT_THAT(log.lines[0], testing::HasSubstr("epoll"));
      EXPECT_THAT(log.lines[0], testing::HasSubstr("forbidden"));
    });
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(fall_back(), testing::ExitedWithCode(0), "");
}

TEST(Engines, io_uring_by_name_fails_where_it_is_forbidden) {
  without_io_uring(EPERM, [] {
    auto engine = make_engine("io_uring");
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error(), Trouble::kUnsupportedEngine);
  });
}

TEST(Engines, kernel_without_io_uring_is_told_from_a_forbidden_one) {
  without_io_uring(ENOSYS, [] { EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("no io_uring")); });
  without_io_uring(EINVAL, [] { EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("too old")); });
}

}  // namespace
}  // namespace peal
