// SPDX-License-Identifier: BSD-3-Clause
// Subprocess: how programs start, which fds and variables they get, and how their streams work.
#include <peal/process/subprocess.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/sync/pipe_streams.h>
#include <tests/support/engines/process_rig.h>
#include <tests/support/engines/socket_pair.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;

using SubprocessTest = test::ProcessTest;

TEST_P(SubprocessTest, talks_to_a_program_and_waits_for_its_end) {
  run([this]() -> Task<> {
    Subprocess sort = start({"sort", "-n"});
    EXPECT_TRUE(co_await sort.input().write("3\n1\n2\n"));
    sort.input().shutdown_send();
    Result<Buffer> first = co_await sort.output().read_until("\n");
    EXPECT_EQ(text_of(first), "1\n");
    EXPECT_EQ(co_await read_all(sort.output()), "2\n3\n");
    EXPECT_EQ(co_await sort.wait(), ExitStatus{});
    EXPECT_EQ(co_await sort.wait(), ExitStatus{}) << "asked again";
  });
}

TEST_P(SubprocessTest, what_cannot_start_is_an_error_and_no_process) {
  run([this]() -> Task<> {
    const auto error = [this](const Command& command, const SubprocessOptions& options = {}) {
      return error_of(Subprocess::start(loop(), command, options));
    };
    EXPECT_EQ(error({"no-such-program-of-peal"}), std::errc::no_such_file_or_directory);
    EXPECT_EQ(error({"/etc/passwd"}), std::errc::permission_denied);
    EXPECT_EQ(error(cat(), {.directory = "/no/such/folder"}), std::errc::no_such_file_or_directory);
    EXPECT_EQ(error(Command(std::vector<std::string>())), std::errc::invalid_argument);
    EXPECT_EQ(error({"cat", std::string_view("a\0b", 3)}), std::errc::invalid_argument);
    const std::vector<std::string> nameless = {"=x"};
    EXPECT_EQ(error(cat(), {.environment = nameless}), std::errc::invalid_argument);
    EXPECT_EQ(error(cat(), {.input = Stdio::output()}), std::errc::invalid_argument);
    EXPECT_EQ(error(cat(), {.input = Stdio::of(-1)}), std::errc::bad_file_descriptor);
    co_return;
  });
}

TEST_P(SubprocessTest, who_never_reads_stops_the_writer_until_its_deadline) {
  run([this]() -> Task<> {
    Subprocess child = start(sleeper());
    const std::string much(1 << 20, 'x');
    Result<void> written;
    while (written) written = co_await child.input().write(much).within(milliseconds(20));
    EXPECT_EQ(error_of(written), std::errc::timed_out);
    EXPECT_EQ(co_await child.stop(), ExitStatus{.signal = SIGTERM});
  });
}

TEST_P(SubprocessTest, who_never_reads_is_not_cut_off_whatever_the_options_of_streams) {
  run([this]() -> Task<> {
    Subprocess child = start(sleeper(), {.stream = {.high_water_bytes = 64 * 1024, .write_window = milliseconds(10)}});
    const std::string much(1 << 20, 'x');
    EXPECT_EQ(error_of(co_await child.input().write(much).within(milliseconds(100))), std::errc::timed_out);
    EXPECT_TRUE(child.input().is_open());
  });
}

TEST_P(SubprocessTest, streams_that_are_moved_out_outlive_it) {
  run([this]() -> Task<> {
    std::optional<Subprocess> child(start(shell("echo ready; cat")));
    Stream input = std::move(child->input());
    Stream output = std::move(child->output());
    Result<Buffer> ready = co_await output.read_until("\n");
    EXPECT_EQ(text_of(ready), "ready\n");
    EXPECT_TRUE(co_await input.write("more\n"));
    Result<Buffer> more = co_await output.read_until("\n");
    EXPECT_EQ(text_of(more), "more\n");
    child.reset();
    EXPECT_EQ(co_await read_all(output), "");
  });
}

TEST_P(SubprocessTest, output_beyond_the_marks_waits_in_the_child) {
  run([this]() -> Task<> {
    // Writes 10 MB into a stream that is not read at first.
    Subprocess child = start(shell("head -c 10000000 /dev/zero; echo done >&2"), {.errors = Stdio::stream()});
    auto early = co_await child.errors().read().within(milliseconds(50));
    EXPECT_EQ(error_of(early), std::errc::timed_out) << "it all went somewhere";
    EXPECT_LT(child.output().connection()->received_bytes(), 1'000'000U);
    EXPECT_EQ((co_await read_all(child.output())).size(), 10'000'000U);
    Result<Buffer> done = co_await child.errors().read();
    EXPECT_EQ(text_of(done), "done\n");
    EXPECT_EQ(co_await child.wait(), ExitStatus{});
  });
}

TEST_P(SubprocessTest, output_may_end_long_before_the_child) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("echo all; exec >&-; read line; exit 7"));
    EXPECT_EQ(co_await read_all(child.output()), "all\n");
    auto early = co_await child.wait().within(milliseconds(10));
    EXPECT_EQ(error_of(early), std::errc::timed_out);
    EXPECT_TRUE(co_await child.input().write("go\n"));
    EXPECT_EQ(co_await child.wait(), ExitStatus{.code = 7});
  });
}

TEST_P(SubprocessTest, input_that_the_child_has_closed_fails_the_writer) {
  run([this]() -> Task<> {
    Subprocess child = start(shell("exec <&-; echo closed; exec sleep 1000"));
    Result<Buffer> closed = co_await child.output().read_until("\n");
    EXPECT_EQ(text_of(closed), "closed\n");
    const std::string much(1 << 20, 'x');
    EXPECT_FALSE(co_await child.input().write(much));
  });
}

TEST_P(SubprocessTest, a_child_has_the_fds_it_is_given_and_no_others) {
  const Fd leaky(::open("/dev/null", O_RDONLY));  // NOLINT: not close-on-exec
  const auto [out, in] = test::pipe_ends(0);      // nor are these
  run([&]() -> Task<> {
    const auto listed = [&](const SubprocessOptions& options) -> Task<std::string> {
      // The shell lists its own fds. To expand the pattern, the shell opens one more fd, which it closes before it
      // prints.
      Subprocess child = start(shell("for fd in /proc/$$/fd/*; do echo -n \"${fd##*/} \"; done"), options);
      co_return co_await read_all(child.output());
    };
    const int further[] = {in.get(), leaky.get()};
    const SubprocessOptions plain;
    // dash opens the folder at the lowest free number while it expands the pattern, so the list has one number too
    // many.
    EXPECT_EQ(co_await listed(plain), "0 1 2 3 ");
    const SubprocessOptions more = {.fds = further};
    EXPECT_EQ(co_await listed(more), "0 1 2 3 4 5 ");
    Subprocess writer = start(shell("echo hello >&3"), more);
    EXPECT_EQ(co_await writer.wait(), ExitStatus{});
  });
  char text[16];
  EXPECT_EQ(::read(out.get(), text, sizeof text), 6);
}

TEST_P(SubprocessTest, standard_fds_lead_where_they_are_to) {
  const auto [out, in] = test::pipe_ends();
  run([&]() -> Task<> {
    Subprocess joined = start(shell("echo one; echo two >&2; echo three"), {.errors = Stdio::output()});
    EXPECT_EQ(co_await read_all(joined.output()), "one\ntwo\nthree\n");
    Subprocess silent = start(shell("cat; echo lost; echo heard >&2"),
                              {.input = Stdio::null(), .output = Stdio::null(), .errors = Stdio::stream()});
    EXPECT_EQ(co_await read_all(silent.errors()), "heard\n");
    Subprocess to_fd = start(shell("echo here"), {.input = Stdio::inherited(), .output = Stdio::of(in.get())});
    EXPECT_EQ(co_await to_fd.wait(), ExitStatus{});
    EXPECT_EQ(co_await silent.wait(), ExitStatus{});
  });
  char text[16];
  EXPECT_EQ(::read(out.get(), text, sizeof text), 5);
}

TEST_P(SubprocessTest, a_process_without_standard_input_starts_others) {
  run([this]() -> Task<> {
    // Standard input is closed, so the next fd that is opened gets the number 0.
    const Fd saved(::fcntl(0, F_DUPFD_CLOEXEC, 10));
    ::close(0);
    {
      Subprocess child = start(shell("cat; echo two >&2"), {.errors = Stdio::stream()});
      EXPECT_TRUE(co_await child.input().write("one\n"));
      child.input().shutdown_send();
      EXPECT_EQ(co_await read_all(child.output()), "one\n");
      EXPECT_EQ(co_await read_all(child.errors()), "two\n");
      EXPECT_EQ(co_await child.wait(), ExitStatus{});
    }
    while (::fcntl(0, F_GETFD) >= 0) co_await settle();
    EXPECT_EQ(::dup2(saved.get(), 0), 0);
  });
}

TEST_P(SubprocessTest, environment_and_directory_are_as_asked) {
  ::setenv("PEAL_KEPT", "kept", 1);
  ::setenv("PEAL_CHANGED", "before", 1);
  ::setenv("PEAL_GONE", "there", 1);
  run([this]() -> Task<> {
    const std::vector<std::string> changes = {"PEAL_CHANGED=after", "PEAL_GONE", "PEAL_NEW=a=b"};
    const Command show = shell("echo $PEAL_KEPT $PEAL_CHANGED ${PEAL_GONE-none} $PEAL_NEW; pwd");
    Subprocess changed = start(show, {.environment = changes, .directory = "/usr"});
    EXPECT_EQ(co_await read_all(changed.output()), "kept after none a=b\n/usr\n");
    Subprocess clean = start({"env"}, {.environment = changes, .clean_environment = true});
    EXPECT_EQ(co_await read_all(clean.output()), "PEAL_CHANGED=after\nPEAL_NEW=a=b\n");
  });
  for (const char* name : {"PEAL_KEPT", "PEAL_CHANGED", "PEAL_GONE"}) ::unsetenv(name);
}

TEST_P(SubprocessTest, signals_of_this_process_mean_nothing_to_the_child) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  run([this]() -> Task<> {
    Subprocess child = start({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
    // Signals 32 and 33 are left out: glibc uses them itself.
    EXPECT_THAT(co_await read_all(child.output()),
                testing::AnyOf("SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n",
                               "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
  });
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_P(SubprocessTest, its_streams_are_piped_like_others) {
  run([this]() -> Task<> {
    Subprocess first = start(shell("seq 100000"));
    Subprocess second = start({"wc", "-l"});
    auto moved = co_await pipe(first.output(), second.input());
    EXPECT_TRUE(moved);
    EXPECT_EQ(co_await read_all(second.output()), "100000\n");
  });
}

PEAL_TEST_ON_EVERY_ENGINE(SubprocessTest);

}  // namespace
}  // namespace peal
