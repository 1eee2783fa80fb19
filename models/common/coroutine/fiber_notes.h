// SPDX-License-Identifier: BSD-3-Clause
// FiberNotes tells the sanitizers when a thread switches its stack. The address sanitizer has to know which memory is
// the stack now (<sanitizer/common_interface_defs.h>). The thread sanitizer has to know which fiber runs now
// (<sanitizer/tsan_interface.h>). Without a sanitizer the class is empty.
//
//   resumer: entering(); <switch>; returned();         fiber: first arrived(), then leaving(); <switch>; arrived(); ...
//
// Every function is inlined. Otherwise the call would begin on one stack and end on another, which confuses a sanitizer
// that counts calls.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define PEAL_ASAN_FIBERS 1
#elif defined(__SANITIZE_THREAD__)
#define PEAL_TSAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PEAL_ASAN_FIBERS 1
#elif __has_feature(thread_sanitizer)
#define PEAL_TSAN_FIBERS 1
#endif
#endif

#if defined(PEAL_ASAN_FIBERS)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(PEAL_TSAN_FIBERS)
#include <sanitizer/tsan_interface.h>
#endif

namespace peal::models {

#if defined(PEAL_ASAN_FIBERS)

class FiberNotes {
 public:
  FiberNotes(void* bottom, size_t bytes) : bottom_(bottom), bytes_(bytes) {}
  ~FiberNotes() { __asan_unpoison_memory_region(bottom_, bytes_); }
  FiberNotes(const FiberNotes&) = delete;
  FiberNotes& operator=(const FiberNotes&) = delete;

  [[gnu::always_inline]] void entering() { __sanitizer_start_switch_fiber(&resumer_fake_, bottom_, bytes_); }
  [[gnu::always_inline]] void returned() { __sanitizer_finish_switch_fiber(resumer_fake_, nullptr, nullptr); }
  [[gnu::always_inline]] void arrived() {
    __sanitizer_finish_switch_fiber(own_fake_, &resumer_bottom_, &resumer_bytes_);
  }
  [[gnu::always_inline]] void leaving(bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_, resumer_bottom_, resumer_bytes_);
  }

 private:
  void* const bottom_;
  const size_t bytes_;
  void* own_fake_ = nullptr;  // the sanitizer's second stack, which detects uses of local variables after a return
  void* resumer_fake_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  size_t resumer_bytes_ = 0;
};

#elif defined(PEAL_TSAN_FIBERS)

class FiberNotes {
 public:
  FiberNotes(void*, size_t) : own_(__tsan_create_fiber(0)) {}
  ~FiberNotes() { __tsan_destroy_fiber(own_); }
  FiberNotes(const FiberNotes&) = delete;
  FiberNotes& operator=(const FiberNotes&) = delete;

  [[gnu::always_inline]] void entering() {
    resumer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_, 0);
  }
  [[gnu::always_inline]] void returned() {}
  [[gnu::always_inline]] void arrived() {}
  [[gnu::always_inline]] void leaving(bool) { __tsan_switch_to_fiber(resumer_, 0); }

 private:
  void* const own_;
  void* resumer_ = nullptr;
};

#else

class FiberNotes {
 public:
  FiberNotes(void*, size_t) {}
  FiberNotes(const FiberNotes&) = delete;
  FiberNotes& operator=(const FiberNotes&) = delete;

  void entering() {}
  void returned() {}
  void arrived() {}
  void leaving(bool) {}
};

#endif

}  // namespace peal::models
