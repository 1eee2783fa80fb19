// SPDX-License-Identifier: BSD-3-Clause
// A logger that hands its lines to a thread of its own loses the last ones when the process exits: its queue dies with
// the process. In peal the kernel has a line before the call returns. So the file has the line of every call that
// returned, whatever ended the process: exit(), which a return from main() calls too, abort(), or exit() while threads
// were logging.
//
// The file has each line once. While stdio wrote the lines, its clean-up at exit wrote a line again that a thread was
// just writing.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>

namespace peal {
namespace {

constexpr int kThreads = 4;
constexpr int kLinesEach = 25'000;

// How many calls have returned on each thread. It is in memory that outlives the process that counts.
struct Returned {
  std::atomic<int> lines[kThreads];
};

class LogLinesAtExit : public testing::Test {
 protected:
  LogLinesAtExit()
      : path_(testing::TempDir() + "/peal_log_lines_at_exit." + std::to_string(::getpid())),
        memory_(::mmap(nullptr, sizeof(Returned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        returned_(new(memory_) Returned{}) {}
  ~LogLinesAtExit() override {
    ::munmap(memory_, sizeof(Returned));
    std::filesystem::remove(path_);
  }

  // Runs `body` in a process of its own, whose log is the file. Returns the wait status of that process.
  int end_of(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!set_log_file(path_)) ::_exit(99);
      body();
      ::_exit(98);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  void log_lines(int thread) {
    for (int line = 0; line < kLinesEach; ++line) {
      PEAL_LOG_INFO("thread {} line {}.", thread, line);
      returned_->lines[thread].store(line + 1, std::memory_order_release);
    }
  }
  void log_from_all_threads() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { log_lines(i); });
    for (std::thread& thread : threads) thread.join();
  }

  // Reads the file. The lines of each thread must be whole and in order; all other lines go to others_.
  void read_file() {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      const std::size_t at = line.find("thread ");
      int thread = -1, number = -1;
      char stop = 0;
      if (at != std::string::npos &&
          std::sscanf(line.c_str() + at, "thread %d line %d%c", &thread, &number, &stop) == 3) {
        ASSERT_EQ(stop, '.') << line;
        ASSERT_EQ(number, found_.at(static_cast<std::size_t>(thread))++) << line;
      } else {
        others_.push_back(line);
      }
    }
  }
  void expect_all_that_returned() {
    read_file();
    for (std::size_t i = 0; i < kThreads; ++i) {
      EXPECT_GE(found_[i], returned_->lines[i].load(std::memory_order_acquire)) << "thread " << i;
    }
  }

  const std::string path_;
  void* const memory_;
  Returned* const returned_;
  std::vector<int> found_ = std::vector<int>(kThreads);
  std::vector<std::string> others_;
};

TEST_F(LogLinesAtExit, a_hundred_thousand_lines_then_exit) {
  const int status = end_of([this] {
    log_from_all_threads();
    std::exit(7);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  expect_all_that_returned();
  EXPECT_EQ(found_, std::vector<int>(kThreads, kLinesEach));
}

TEST_F(LogLinesAtExit, exit_while_threads_are_logging) {
  const int status = end_of([this] {
    // The threads are not joined, so they log until the process is gone.
    for (int i = 0; i < kThreads; ++i) std::thread([this, i] { log_lines(i); }).detach();
    while (returned_->lines[0].load() < 1'000) std::this_thread::yield();
    std::exit(7);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  expect_all_that_returned();
  EXPECT_GE(found_[0], 1'000);
}

TEST_F(LogLinesAtExit, abort) {
  const int status = end_of([this] {
    log_lines(0);
    std::abort();
  });
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 98);
  expect_all_that_returned();
  EXPECT_EQ(found_[0], kLinesEach);
}

struct LogsWhenItDies {
  ~LogsWhenItDies() { PEAL_LOG_INFO("the last word"); }
};

TEST_F(LogLinesAtExit, destructor_of_a_static_object_logs_the_last_line) {
  const int status = end_of([] {
    static const LogsWhenItDies last;
    PEAL_LOG_INFO("before");
    std::exit(7);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  read_file();
  ASSERT_EQ(others_.size(), 2U);
  EXPECT_TRUE(others_[1].ends_with("the last word"));
}

}  // namespace
}  // namespace peal
