// SPDX-License-Identifier: BSD-3-Clause
// Subprocess: how programs end, are waited for, are stopped and are abandoned.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <tuple>
#include <vector>

#include <peal/coro/when.h>
#include <peal/process/subprocess.h>
#include <peal/sync/select.h>
#include <tests/support/engines/process_rig.h>
#include <tests/support/many_fds.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;

using SubprocessEnd = test::ProcessTest;

TEST_P(SubprocessEnd, tells_codes_and_signals_apart) {
  run([this]() -> Task<> {
    Subprocess exits = start(shell("exit 3"));
    EXPECT_EQ(co_await exits.wait(), ExitStatus{.code = 3});
    Subprocess dies = start(shell("kill -USR1 $$"));
    const Result<ExitStatus> died = co_await dies.wait();
    EXPECT_EQ(died, ExitStatus{.signal = SIGUSR1});
    EXPECT_FALSE(died->success());
  });
}

TEST_P(SubprocessEnd, a_late_signal_reaches_nobody) {
  run([this]() -> Task<> {
    Subprocess child = start(sleeper());
    EXPECT_EQ(error_of(child.signal(1000)), std::errc::invalid_argument);
    EXPECT_TRUE(child.signal(SIGINT));
    EXPECT_EQ(co_await child.wait(), ExitStatus{.signal = SIGINT});
    EXPECT_TRUE(child.signal(SIGKILL));
  });
}

TEST_P(SubprocessEnd, who_ignores_the_request_to_end_is_killed_after_the_grace) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("trap '' TERM; echo ready; while :; do sleep 1000; done"));
    Result<Buffer> ready = co_await child.output().read_until("\n");
    EXPECT_EQ(text_of(ready), "ready\n");
    EXPECT_EQ(co_await child.stop(milliseconds(20)), ExitStatus{.signal = SIGKILL});
  });
}

TEST_P(SubprocessEnd, who_is_left_in_the_childs_group_ends_with_it) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("sleep 1000 & echo $!"));
    const pid_t grandchild = co_await read_pid(child.output());
    EXPECT_EQ(co_await read_all(child.output()), "") << "the grandchild has the output, too";
    EXPECT_EQ(co_await child.wait(), ExitStatus{});
    co_await until_gone(grandchild);
  });
}

TEST_P(SubprocessEnd, a_grandchild_outside_the_group_holds_the_output_of_a_child_that_has_ended) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("sleep 1000 & echo $!"), {.own_group = false});
    const pid_t grandchild = co_await read_pid(child.output());
    EXPECT_EQ(co_await child.wait(), ExitStatus{});
    auto end = co_await child.output().read().within(milliseconds(10));
    EXPECT_EQ(error_of(end), std::errc::timed_out);
    EXPECT_EQ(::kill(grandchild, SIGKILL), 0);
    EXPECT_EQ(co_await read_all(child.output()), "");
    co_await until_gone(grandchild);
  });
}

TEST_P(SubprocessEnd, signals_reach_the_grandchildren) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("sleep 1000 & echo $!; wait"));
    const pid_t grandchild = co_await read_pid(child.output());
    EXPECT_EQ(co_await child.stop(hours(1)), ExitStatus{.signal = SIGTERM});
    co_await until_gone(grandchild);
  });
}

TEST_P(SubprocessEnd, who_is_stopped_is_asked_to_end_as_well) {
  run([this]() -> Task<> {
    Subprocess child = start(sleeper());
    EXPECT_TRUE(child.signal(SIGSTOP));
    while (!is_in_state(child.pid(), 'T')) co_await sleep(milliseconds(1));
    EXPECT_EQ(co_await child.stop(hours(1)), ExitStatus{.signal = SIGTERM});
  });
}

TEST_P(SubprocessEnd, signals_reach_a_child_that_has_left_its_group) {
  run([this]() -> Task<> {
    Subprocess child = start(
        shell("sleep 1000 & echo $!; exec perl -e 'setpgrp(0, getpgrp(getppid)); $| = 1; print qq(left\\n); sleep'"));
    const pid_t grandchild = co_await read_pid(child.output());
    Result<Buffer> left = co_await child.output().read_until("\n");
    EXPECT_EQ(text_of(left), "left\n");
    EXPECT_EQ(co_await child.stop(hours(1)), ExitStatus{.signal = SIGTERM});
    co_await until_gone(grandchild);
  });
}

TEST_P(SubprocessEnd, the_first_of_those_that_wait_may_destroy_it) {
  run([this]() -> Task<> {
    std::optional<Subprocess> child(start(shell("read line; exit 7")));
    auto owner = [&]() -> Task<> {
      EXPECT_EQ(co_await child->wait(), ExitStatus{.code = 7});
      child.emplace(start({"true"}));
    };
    auto watcher = [&]() -> Task<> { EXPECT_EQ(co_await child->wait(), ExitStatus{.code = 7}); };
    auto ends_it = [&]() -> Task<> {
      co_await settle();
      child->input().shutdown_send();
    };
    co_await when_all(owner(), watcher(), ends_it());
    EXPECT_EQ(co_await child->wait(), ExitStatus{});
  });
}

TEST_P(SubprocessEnd, many_in_a_row_leave_nothing) {
  run([this]() -> Task<> {
    size_t fds = 0;
    for (int i = 0; i < 200; ++i) {
      {
        Subprocess child = start({"true"});
        EXPECT_EQ(co_await child.wait(), ExitStatus{});
      }
      co_await settle();
      if (i == 0) fds = count_open_fds();
    }
    EXPECT_EQ(count_open_fds(), fds);
  });
}

TEST_P(SubprocessEnd, destroyed_while_it_runs_it_is_killed_and_reaped_by_the_loop) {
  run([this]() -> Task<> {
    std::vector<pid_t> pids;
    for (int i = 0; i < 10; ++i) {
      Subprocess child = start(shell("trap '' TERM; while :; do sleep 1000; done"));
      pids.push_back(child.pid());
    }
    for (const pid_t pid : pids) {
      while (::kill(pid, 0) == 0) co_await sleep(milliseconds(1));  // a zombie still has its number
    }
  });
}

TEST_P(SubprocessEnd, the_loops_end_kills_and_reaps_what_was_left) {
  run([this]() -> Task<> {
    for (int i = 0; i < 3; ++i) start(sleeper());
    co_return;
  });
}

TEST_P(SubprocessEnd, the_loop_ends_while_somebody_talks_and_waits) {
  run_into_the_end([this]() -> Task<> {
    Subprocess child = start(cat());
    auto read = [&]() -> Task<> { EXPECT_EQ(error_of(co_await child.output().read()), Trouble::kLoopStopped); };
    auto wait = [&]() -> Task<> {
      EXPECT_EQ(error_of(co_await child.wait()), Trouble::kLoopStopped);
      EXPECT_EQ(error_of(Subprocess::start(loop(), cat())), Trouble::kLoopStopped);
    };
    co_await when_all(read(), wait());
  });
}

TEST_P(SubprocessEnd, outlives_its_loop) {
  std::optional<Subprocess> child;
  run([&]() -> Task<> {
    child.emplace(start(cat()));
    co_return;
  });
  EXPECT_EQ(::kill(child->pid(), 0), 0);
  EXPECT_FALSE(child->output().is_open());
  EXPECT_TRUE(child->signal(SIGUSR1));
  child.reset();
}

TEST_P(SubprocessEnd, waiting_can_be_cancelled_and_chosen) {
  run([this]() -> Task<> {
    Subprocess child = start(cat());
    Scope scope(loop());
    auto waits = [&]() -> Task<> { EXPECT_EQ(error_of(co_await child.wait()), std::errc::operation_canceled); };
    scope.spawn(waits());
    co_await settle();
    scope.cancel();
    co_await scope.join();
    auto read = co_await select(child.wait(), child.output().read(), sleep({}));
    EXPECT_EQ(read->index(), 2U);
    EXPECT_TRUE(co_await child.input().write("x"));
    auto output = co_await select(child.wait(), child.output().read());
    EXPECT_EQ(output->index(), 1U);
    child.input().shutdown_send();
    auto ended = co_await select(sleep(hours(1)), child.wait());
    EXPECT_EQ(std::get<1>(*ended), ExitStatus{});
    auto has_ended = [&]() -> Task<bool> { co_return (co_await child.wait()).has_value(); };
    auto both = co_await when_all(has_ended(), has_ended());
    EXPECT_EQ(both, (std::tuple{true, true}));
    Subprocess stubborn = start(shell("trap '' TERM; echo; while :; do sleep 1000; done"));
    EXPECT_TRUE(co_await stubborn.output().read());
    Scope second(loop());
    auto stops_it = [&]() -> Task<> {
      EXPECT_EQ(error_of(co_await stubborn.stop(hours(1))), std::errc::operation_canceled);
    };
    second.spawn(stops_it());
    co_await settle();
    second.cancel();
    co_await second.join();
  });
}

TEST_P(SubprocessEnd, somebody_else_reaps_it) {
  run([this]() -> Task<> {
    Subprocess child = start(sleeper());
    EXPECT_TRUE(child.signal(SIGKILL));
    EXPECT_EQ(::waitpid(child.pid(), nullptr, 0), child.pid());
    EXPECT_TRUE(child.signal(SIGTERM));
    EXPECT_EQ(error_of(co_await child.wait()), std::errc::no_child_process);
  });
}

TEST_P(SubprocessEnd, another_child_of_the_process_is_not_touched) {
  const pid_t other = ::fork();
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  run([&]() -> Task<> {
    Subprocess child = start({"true"});
    EXPECT_EQ(co_await child.wait(), ExitStatus{});
    Subprocess killed = start(sleeper());
    ::kill(other, SIGKILL);
    EXPECT_EQ(co_await killed.stop(), ExitStatus{.signal = SIGTERM});
  });
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
}

TEST_P(SubprocessEnd, too_few_fds_are_an_error_and_no_process) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto starts = [this](rlim_t most, const SubprocessOptions& options) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit fewer{.rlim_cur = most, .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &fewer);
    const Result<Subprocess> child = Subprocess::start(loop(), sleeper(), options);
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(error_of(child), child ? std::error_code() : errno_code(EMFILE));
    return child.has_value();
  };
  run([&]() -> Task<> {
    const auto fails_until = [&](SubprocessOptions options) -> Task<size_t> {
      const auto used = static_cast<rlim_t>(Fd(::fcntl(0, F_DUPFD_CLOEXEC, 0)).get());
      size_t failures = 0;
      for (; !starts(used + failures, options); ++failures) co_await settle();
      co_return failures;
    };
    // The fd that is opened last is the pidfd of the child, which runs already.
    const Stdio to_null = Stdio::of(null.get());
    const SubprocessOptions nothing = {.input = to_null, .output = to_null, .errors = to_null};
    EXPECT_GE(co_await fails_until(nothing), 4U);
    const SubprocessOptions streams = {.errors = Stdio::stream()};
    EXPECT_GE(co_await fails_until(streams), 7U);
  });
}

TEST_P(SubprocessEnd, an_engine_that_cannot_watch_it_says_so) {
  test::ManyFds many;
  if (!many.enough) GTEST_SKIP() << "this process may not have " << test::ManyFds::kFds << " fds";
  run([&, this]() -> Task<> {
    many.take_low_ones();
    Subprocess child = start({"sleep", "1000"}, {.input = Stdio::null(), .output = Stdio::null()});
    const bool says_so = GetParam() == "select";
    const Result<ExitStatus> ended = co_await child.wait().within(says_so ? hours(1) : milliseconds(20));
    EXPECT_EQ(error_of(ended), says_so ? std::errc::too_many_files_open : std::errc::timed_out);
    many.give_back();
    EXPECT_TRUE(child.signal(SIGTERM));
  });
}

PEAL_TEST_ON_EVERY_ENGINE(SubprocessEnd);

}  // namespace
}  // namespace peal
