// SPDX-License-Identifier: BSD-3-Clause
// run_process() with real programs, on every engine of the kernel.
#include <peal/process/run_process.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include <tests/support/engines/process_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;

using RunProcess = test::ProcessTest;

TEST_P(RunProcess, answers_with_code_output_and_errors) {
  run([]() -> Task<> {
    const Result<ProcessAnswer> done = co_await run_process({"sh", "-c", "echo one; echo two >&2; cat; exit 3"});
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(done->status, ExitStatus{.code = 3});
    EXPECT_EQ(done->output, "one\n");
    EXPECT_EQ(done->errors, "two\n");
    EXPECT_EQ(error_of(co_await run_process({"no-such-program-of-peal"})), std::errc::no_such_file_or_directory);
  });
}

TEST_P(RunProcess, much_input_goes_in_while_as_much_comes_out) {
  run([]() -> Task<> {
    std::string much(20'000'000, 'x');
    for (size_t i = 0; i < much.size(); i += 1000) much[i] = static_cast<char>('a' + i / 1000 % 26);
    const Result<ProcessAnswer> done =
        co_await run_process({"cat"}, {.input = much, .output_limit_bytes = much.size()});
    EXPECT_TRUE(done.has_value());
    EXPECT_TRUE(done->output == much);
  });
}

TEST_P(RunProcess, input_that_is_not_read_is_no_error) {
  run([]() -> Task<> {
    const std::string much(5'000'000, 'x');
    const Result<ProcessAnswer> done = co_await run_process({"head", "-c", "3"}, {.input = much});
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(done->output, "xxx");
    EXPECT_TRUE(done->status.success());
  });
}

TEST_P(RunProcess, little_input_that_is_not_read_is_no_error) {
  run([]() -> Task<> {
    // The kernel buffers a part of the input, and the connection buffers the other part.
    const std::string much(400'000, 'x');
    RunOptions options = {.input = much};
    options.process.stream.high_water_bytes = 1 << 20;
    const Result<ProcessAnswer> done = co_await run_process({"head", "-c", "3"}, options);
    EXPECT_EQ(error_of(done), std::error_code());
    EXPECT_EQ(done->output, "xxx");
    EXPECT_EQ(error_of(co_await run_process({"true"}, options)), std::error_code());
  });
}

TEST_P(RunProcess, input_that_a_limit_of_ours_cuts_off_is_an_error) {
  run([]() -> Task<> {
    const std::string much(2'000'000, 'x');
    RunOptions options = {.input = much};
    options.process.stream = {.high_water_bytes = 1 << 20, .output_limit_bytes = 100'000};
    EXPECT_EQ(error_of(co_await run_process({"sleep", "1000"}, options)), std::errc::connection_aborted);
  });
}

TEST_P(RunProcess, who_writes_more_than_the_limit_is_killed) {
  run([]() -> Task<> {
    EXPECT_EQ(error_of(co_await run_process({"yes"})), std::errc::message_size);
    EXPECT_EQ(error_of(co_await run_process({"sh", "-c", "yes >&2"}, {.input = "never read"})),
              std::errc::message_size);
    const Result<ProcessAnswer> exactly = co_await run_process({"printf", "1234"}, {.output_limit_bytes = 4});
    EXPECT_TRUE(exactly.has_value());
    EXPECT_EQ(error_of(co_await run_process({"printf", "12345"}, {.output_limit_bytes = 4})), std::errc::message_size);
  });
}

TEST_P(RunProcess, who_takes_too_long_is_killed_with_all_its_group) {
  run([]() -> Task<> {
    const Fd file(::memfd_create("pid", MFD_CLOEXEC));
    const int further[] = {file.get()};
    std::array<char, 16> pid{};
    for (milliseconds timeout(50); pid[0] == 0; timeout *= 2) {
      RunOptions options = {.timeout = timeout};
      options.process.fds = further;
      EXPECT_EQ(error_of(co_await run_process({"sh", "-c", "sleep 1000 & echo $! >&3; wait"}, options)),
                std::errc::timed_out);
      EXPECT_GE(::pread(file.get(), pid.data(), pid.size() - 1, 0), 0);
    }
    co_await until_gone(std::stoi(pid.data()));
    // The awaiting task may set a deadline of its own.
    EXPECT_EQ(error_of(co_await run_process({"sleep", "1000"}).within(milliseconds(20))), std::errc::timed_out);
  });
}

TEST_P(RunProcess, cancelled_it_leaves_nothing) {
  run([this]() -> Task<> {
    Scope scope(loop());
    auto runs = []() -> Task<> {
      EXPECT_EQ(error_of(co_await run_process({"sleep", "1000"})), std::errc::operation_canceled);
    };
    scope.spawn(runs());
    co_await settle();
    scope.cancel();
    co_await scope.join();
  });
}

TEST_P(RunProcess, the_loops_end_kills_it) {
  run_into_the_end(
      []() -> Task<> { EXPECT_EQ(error_of(co_await run_process({"sleep", "1000"})), Trouble::kLoopStopped); });
}

PEAL_TEST_ON_EVERY_ENGINE(RunProcess);

}  // namespace
}  // namespace peal
