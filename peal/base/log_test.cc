// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/log.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/log_limiter.h>

namespace peal {
namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

// Resets the log after each test to the state that it has in a new process.
class Log : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // A death test starts this program again as a new process, which must write to the file that this process reads.
    const std::string mine = testing::TempDir() + "/peal_log_test." + std::to_string(::getpid());
    ::setenv("PEAL_LOG_TEST_FILE", mine.c_str(), 0);
    path_ = std::getenv("PEAL_LOG_TEST_FILE");
  }
  void TearDown() override {
    ::unsetenv("PEAL_LOG_TEST_FILE");
    set_log_level(LogLevel::kInfo);
    set_log_sink({});
    std::filesystem::remove(path_);
  }
  void collect() {
    set_log_sink([this](const LogRecord& record) {
      lines_.push_back(std::string(to_string(record.level)) + " " + std::string(record.text));
    });
  }
  std::string file_text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
  std::vector<std::string> lines_;
};

TEST_F(Log, the_sink_gets_the_levels_that_are_on) {
  collect();
  set_log_level(LogLevel::kWarn);
  PEAL_LOG_TRACE("a");
  PEAL_LOG_DEBUG("b");
  PEAL_LOG_INFO("c");
  PEAL_LOG_WARN("d {}", 1);
  PEAL_LOG_ERROR("e {} {}", 2, "two");
  PEAL_LOG_CRITICAL("f");
  EXPECT_THAT(lines_, ElementsAre("warn d 1", "error e 2 two", "critical f"));
  set_log_level(LogLevel::kTrace);
  PEAL_LOG_TRACE("g");
  EXPECT_EQ(lines_.back(), "trace g");
  set_log_level(LogLevel::kOff);
  PEAL_LOG_CRITICAL("h");
  EXPECT_EQ(lines_.back(), "trace g");
}

TEST_F(Log, text_of_others_writes_no_line_of_its_own) {
  collect();
  const std::string forged = "a\nerror b\x1b[0m";
  PEAL_LOG_INFO("{}", forged);
  PEAL_LOG_INFO("{} {} {:>2}", forged.c_str(), std::string_view(forged), '\n');
  PEAL_LOG_INFO("{1:.3}, {0}", 1, forged);
  PEAL_LOG_INFO("{name}", fmt::arg("name", forged));
  PEAL_LOG_INFO("two\nlines: {}", "\xc3\xa4\xff");
  PEAL_LOG_INFO("at\n{}", LogLines{"#1 main\n#2 \x1b_start\n"});
  EXPECT_THAT(lines_,
              ElementsAre("info a\\x0Aerror b\\x1B[0m", "info a\\x0Aerror b\\x1B[0m a\\x0Aerror b\\x1B[0m \\x0A",
                          "info a\\x, 1", "info a\\x0Aerror b\\x1B[0m", "info two\nlines: \xc3\xa4\\xFF",
                          "info at\n#1 main\n#2 \\x1B_start\n"));
}

TEST_F(Log, a_level_that_is_off_evaluates_nothing) {
  collect();
  int evaluated = 0;
  PEAL_LOG_DEBUG("{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  PEAL_LOG_INFO("{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST_F(Log, a_record_says_where_it_comes_from) {
  int line = 0;
  std::string file;
  set_log_sink([&](const LogRecord& record) {
    line = record.line;
    file = record.file;
  });
  PEAL_LOG_INFO("here");
  EXPECT_EQ(line, __LINE__ - 1);
  EXPECT_EQ(file, __FILE__);
}

TEST_F(Log, stderr_lines_have_time_level_thread_and_place) {
  testing::internal::CaptureStderr();
  PEAL_LOG_WARN("port {} is taken", 80);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ContainsRegex("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{6}Z warning +[0-9]+ "
                            "log_test.cc:[0-9]+ port 80 is taken\n$"));
}

TEST_F(Log, names_of_levels_read_back) {
  for (const LogLevel level : {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError,
                               LogLevel::kCritical, LogLevel::kOff}) {
    EXPECT_EQ(parse_log_level(to_string(level)), level);
  }
  EXPECT_EQ(parse_log_level("verbose"), std::nullopt);
  EXPECT_EQ(parse_log_level(""), std::nullopt);
}

TEST_F(Log, a_file_holds_each_line_when_the_call_returns) {
  ASSERT_TRUE(set_log_file(path_));
  PEAL_LOG_INFO("first");
  EXPECT_THAT(file_text(), HasSubstr("first\n"));
  ASSERT_TRUE(set_log_file(path_));
  PEAL_LOG_INFO("second");
  EXPECT_THAT(file_text(), ContainsRegex("first\n.*second\n"));
}

TEST_F(Log, a_process_that_was_forked_names_its_own_thread) {
  ASSERT_TRUE(set_log_file(path_));
  PEAL_LOG_INFO("the parent");
  const pid_t child = ::fork();
  if (child == 0) {
    PEAL_LOG_INFO("the child");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(file_text(), ContainsRegex(fmt::format(" {} .*the child", child)));
}

TEST_F(Log, a_file_that_cannot_be_opened_is_an_error_and_the_log_stays) {
  collect();
  const Result<void> result = set_log_file("/proc/peal/log");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), errno_code(ENOENT));
  PEAL_LOG_INFO("still here");
  EXPECT_THAT(lines_, ElementsAre("info still here"));
}

TEST_F(Log, a_line_logged_inside_a_sink_goes_to_stderr) {
  set_log_sink([](const LogRecord&) { PEAL_LOG_ERROR("inner"); });
  testing::internal::CaptureStderr();
  PEAL_LOG_INFO("outer");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error inner\n");
}

TEST_F(Log, a_line_logged_by_the_death_of_a_sink_goes_to_stderr) {
  struct LogsWhenDestroyed {
    ~LogsWhenDestroyed() { PEAL_LOG_INFO("last words"); }
  };
  set_log_sink([owned = std::make_unique<LogsWhenDestroyed>()](const LogRecord&) {});
  testing::internal::CaptureStderr();
  set_log_sink({});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info last words\n");
}

TEST_F(Log, a_sink_that_throws_loses_no_line) {
  set_log_sink([](const LogRecord& record) {
    if (record.text == "int") throw 1;
    throw std::runtime_error("no");
  });
  testing::internal::CaptureStderr();
  PEAL_LOG_INFO("int");
  PEAL_LOG_INFO("error");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info int\ninfo error\n");
}

TEST_F(Log, nothing_is_lost_by_abort_or_exit_without_cleanup) {
  EXPECT_EXIT(
      {
        ASSERT_TRUE(set_log_file(path_));
        PEAL_LOG_INFO("before abort");
        std::abort();
      },
      testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(
      {
        ASSERT_TRUE(set_log_file(path_));
        PEAL_LOG_INFO("before exit");
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_THAT(file_text(), ContainsRegex("before abort\n.*before exit\n"));
}

TEST_F(Log, lines_of_a_static_s_destructor_are_written) {
  struct Late {
    ~Late() { PEAL_LOG_INFO("after main"); }
  };
  EXPECT_EXIT(
      {
        static const Late late;
        PEAL_LOG_INFO("before");
        std::exit(0);
      },
      testing::ExitedWithCode(0), "after main");
}

TEST_F(Log, threads_that_log_while_sink_and_level_change_lose_no_line) {
  constexpr int kThreads = 4, kLines = 500;
  std::size_t received = 0;  // needs no lock: the log calls its sink on one thread at a time
  const auto count = [&received](const LogRecord&) { ++received; };
  set_log_sink(count);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) PEAL_LOG_WARN("{} {}", t, i);
      });
    }
    for (int i = 0; i < 100; ++i) {
      set_log_sink(count);
      set_log_level(i % 2 == 0 ? LogLevel::kTrace : LogLevel::kInfo);
    }
  }
  EXPECT_EQ(received, kThreads * kLines);
}

TEST(LogLimiter, one_passes_in_each_interval_and_tells_what_was_held_back) {
  LogLimiter limiter(seconds(1));
  const TimePoint start{seconds(100)};
  EXPECT_EQ(limiter.admit(start), 0u);
  EXPECT_EQ(limiter.admit(start), std::nullopt);
  EXPECT_EQ(limiter.admit(start + seconds(1) - Duration(1)), std::nullopt);
  EXPECT_EQ(limiter.admit(start + seconds(1)), 2u);
  EXPECT_EQ(limiter.admit(start + seconds(60)), 0u);
}

TEST(LogLimiter, an_interval_without_end_lets_one_pass) {
  LogLimiter limiter(Duration::max());
  EXPECT_EQ(limiter.admit(TimePoint(seconds(1))), 0u);
  EXPECT_EQ(limiter.admit(TimePoint(std::chrono::years(200))), std::nullopt);
}

TEST(LogLimiter, the_first_passes_whatever_the_clock_says) {
  LogLimiter limiter(seconds(1));
  EXPECT_EQ(limiter.admit(TimePoint{}), 0u);
  EXPECT_EQ(limiter.admit(TimePoint{}), std::nullopt);
}

}  // namespace
}  // namespace peal
