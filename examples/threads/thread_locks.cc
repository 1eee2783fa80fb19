// SPDX-License-Identifier: BSD-3-Clause
// Shows what threads can share: an atomic counter, an account whose lock clang checks, and a list with a lock.
#include <atomic>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <peal/base/mutex.h>
#include <peal/base/thread/locked_list.h>

namespace {

// Quoted in docs: [mutex]
class Account {
 public:
  void pay_in(int euros) {
    peal::MutexLock lock(mutex_);
    add(euros);
    paid_in_.notify_all();
  }
  // Waits until the account holds at least `euros`, subtracts `euros` from the account and returns true. Returns false
  // if the deadline passes during the wait. A payment at the time of the deadline may come too late, because the
  // account is not checked once more.
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
// End of quote: [mutex]

// Quoted in docs: [atomic]
std::atomic<int> visitors = 0;

void visit() { visitors.fetch_add(1, std::memory_order_relaxed); }
// End of quote: [atomic]

}  // namespace

int main() {
  Account account;
  // Quoted in docs: [list]
  peal::LockedList<int> guests;
  std::thread door([&] {
    for (int guest = 1; guest <= 3; ++guest) guests.push(guest);
  });
  door.join();
  guests.for_each([&](int guest) { account.pay_in(guest); });  // no lock is held during this call
  // End of quote: [list]
  for (int i = 0; i < 3; ++i) visit();
  const bool paid = account.pay_out(6, peal::monotonic_now() + std::chrono::seconds(1));
  fmt::print("{} visitors, {}\n", visitors.load(), paid ? "paid" : "poor");
  return paid ? 0 : 1;
}
