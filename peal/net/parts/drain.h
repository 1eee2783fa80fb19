// SPDX-License-Identifier: BSD-3-Clause
// Drain: one call of Server::drain(). Everything that still works on it holds a shared_ptr to it. When the last holder
// releases it, the destructor calls on_done with the report: exactly once, also if a loop ends meanwhile. Any thread.
#pragma once

#include <atomic>
#include <mutex>

#include <peal/base/callback.h>
#include <peal/net/net_stats.h>

namespace peal::detail {

class Drain {
 public:
  using Done = Callback<void(const DrainReport&)>;

  explicit Drain(Done on_done) : on_done_(std::move(on_done)) {}
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  void ended(bool forced) { (forced ? forced_ : finished_).fetch_add(1, std::memory_order_relaxed); }
  void lost(uint64_t queued_bytes, uint64_t kernel_bytes) {
    lost_bytes_.fetch_add(queued_bytes, std::memory_order_relaxed);
    lost_in_kernel_bytes_.fetch_add(kernel_bytes, std::memory_order_relaxed);
  }
  // Prevents the report: on_done will not be called.
  void forget();

 private:
  std::mutex mutex_;
  Done on_done_;  // guarded by the mutex
  std::atomic<uint64_t> finished_ = 0;
  std::atomic<uint64_t> forced_ = 0;
  std::atomic<uint64_t> lost_bytes_ = 0;
  std::atomic<uint64_t> lost_in_kernel_bytes_ = 0;
};

}  // namespace peal::detail
