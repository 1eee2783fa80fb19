// SPDX-License-Identifier: BSD-3-Clause
// What threads share: a counter, an account under a lock that clang checks, a list.
#include <atomic>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <peal/base/mutex.h>
#include <peal/base/thread/locked_list.h>

namespace {

// [mutex]
class Account {
 public:
  void pay_in(int euros) {
    peal::MutexLock lock(mutex_);
    add(euros);
    paid_in_.notify_all();
  }
  // Waits until there is enough. False: there was not, up to the deadline.
  bool pay_out(int euros, peal::TimePoint deadline) {
    peal::MutexLock lock(mutex_);
    while (euros_ < euros) {
      if (!paid_in_.wait_until(mutex_, deadline)) return false;
    }
    add(-euros);
    return true;
  }

 private:
  void add(int euros) PEAL_REQUIRES(mutex_) { euros_ += euros; }

  peal::Mutex mutex_;
  peal::Condition paid_in_;
  int euros_ PEAL_GUARDED_BY(mutex_) = 0;
};
// [mutex]

// [atomic]
std::atomic<int> visitors = 0;

void visit() { visitors.fetch_add(1, std::memory_order_relaxed); }
// [atomic]

}  // namespace

int main() {
  Account account;
  // [list]
  peal::LockedList<int> guests;
  std::thread door([&] {
    for (int guest = 1; guest <= 3; ++guest) guests.push(guest);
  });
  door.join();
  guests.for_each([&](int guest) { account.pay_in(guest); });  // no lock is held here
  // [list]
  for (int i = 0; i < 3; ++i) visit();
  const bool paid = account.pay_out(6, peal::monotonic_now() + std::chrono::seconds(1));
  fmt::print("{} visitors, {}\n", visitors.load(), paid ? "paid" : "poor");
  return paid ? 0 : 1;
}
