// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/mutex.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

class Guarded {
 public:
  void add(int n) {
    MutexLock lock(mutex_);
    sum_ += n;
    changed_.notify_all();
  }
  void wait_for(int sum) {
    MutexLock lock(mutex_);
    while (sum_ < sum) changed_.wait(mutex_);
    mutex_.assert_held();
  }
  bool wait_until(TimePoint deadline, int sum) {
    MutexLock lock(mutex_);
    while (sum_ < sum) {
      if (!changed_.wait_until(mutex_, deadline)) return false;
    }
    return true;
  }
  int sum() {
    MutexLock lock(mutex_);
    return sum_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int sum_ PEAL_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, only_one_thread_at_a_time) {
  Guarded guarded;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) guarded.add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded.sum(), 40'000);
}

TEST(Mutex, try_lock_fails_while_another_thread_holds_it) {
  Mutex mutex;
  mutex.lock();
  std::thread([&] {
    if (mutex.try_lock()) {
      ADD_FAILURE();
      mutex.unlock();
    }
  }).join();
  mutex.unlock();
  const bool locked = mutex.try_lock();
  EXPECT_TRUE(locked);
  if (locked) mutex.unlock();
}

TEST(Condition, waits_for_what_another_thread_does) {
  Guarded guarded;
  std::thread other([&] { guarded.wait_for(3); });
  for (int i = 0; i < 3; ++i) guarded.add(1);
  other.join();
  EXPECT_TRUE(guarded.wait_until(kNever, 3));
}

TEST(Condition, a_wait_ends_at_its_deadline_with_the_mutex_held_again) {
  Guarded guarded;
  const TimePoint deadline = monotonic_now() + milliseconds(2);
  EXPECT_FALSE(guarded.wait_until(deadline, 1));
  EXPECT_GE(monotonic_now(), deadline);
  EXPECT_FALSE(guarded.wait_until(TimePoint{}, 1));
}

class MutexDeath : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// These functions misuse the mutex on purpose, so clang's analysis is turned off for them.
void lock_twice() PEAL_NO_THREAD_SAFETY_ANALYSIS {
  Mutex mutex;
  mutex.lock();
  mutex.lock();
}
void unlock_what_another_holds() PEAL_NO_THREAD_SAFETY_ANALYSIS {
  Mutex mutex;
  std::thread([&]() PEAL_NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); }).join();
  mutex.unlock();
}
void wait_without_the_mutex() PEAL_NO_THREAD_SAFETY_ANALYSIS {
  Mutex mutex;
  Condition().wait(mutex);
}

TEST_F(MutexDeath, locking_twice_asserts) { EXPECT_DEATH(lock_twice(), "locks a mutex that it holds already"); }
TEST_F(MutexDeath, unlocking_what_another_holds_asserts) {
  EXPECT_DEATH(unlock_what_another_holds(), "does not hold the mutex it needs");
}
TEST_F(MutexDeath, waiting_without_the_mutex_asserts) {
  EXPECT_DEATH(wait_without_the_mutex(), "does not hold the mutex it needs");
}
TEST_F(MutexDeath, assert_held_asserts) {
  Mutex mutex;
  EXPECT_DEATH(mutex.assert_held(), "does not hold the mutex it needs");
}

}  // namespace
}  // namespace peal
