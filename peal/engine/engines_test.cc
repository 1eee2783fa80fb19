// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/engines.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

// Runs `body` on a thread of its own, where io_uring_setup(2) fails with `error`. A seccomp filter makes it fail, and
// it applies only to the thread that loads it.
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

TEST(Engines, names_are_all_known_and_auto_is_not_one) {
  EXPECT_THAT(engine_names(), testing::ElementsAre("epoll", "io_uring", "poll", "select"));
  for (std::string_view name : engine_names()) {
    auto engine = make_engine(name);
    if (!why_unsupported(name).empty()) continue;
    ASSERT_TRUE(engine.has_value());
    EXPECT_EQ((*engine)->name(), name);
  }
}

TEST(Engines, unknown_name_is_an_error_with_a_reason) {
  EXPECT_EQ(test::error_of(make_engine("kqueue")), Trouble::kUnsupportedEngine);
  EXPECT_EQ(why_unsupported("kqueue"), "there is no engine called 'kqueue'");
  EXPECT_FALSE(make_engine("").has_value());
}

TEST(Engines, auto_takes_epoll_whatever_else_runs_here) {
  EXPECT_EQ(why_unsupported("auto"), "");
  auto take = [] {
    auto engine = make_engine("auto");
    ASSERT_TRUE(engine.has_value());
    EXPECT_EQ((*engine)->name(), "epoll");
  };
  take();
  without_io_uring(EPERM, [&] {
    EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("forbidden"));
    take();
  });
}

TEST(Engines, io_uring_by_name_fails_where_it_is_forbidden) {
  without_io_uring(EPERM, [] { EXPECT_EQ(test::error_of(make_engine("io_uring")), Trouble::kUnsupportedEngine); });
}

TEST(Engines, kernel_without_io_uring_is_told_from_a_forbidden_one) {
  without_io_uring(ENOSYS, [] { EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("no io_uring")); });
  without_io_uring(EINVAL, [] { EXPECT_THAT(why_unsupported("io_uring"), testing::HasSubstr("too old")); });
}

}  // namespace
}  // namespace peal
