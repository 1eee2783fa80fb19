// SPDX-License-Identifier: BSD-3-Clause
// What a lock guards, written where a compiler can check it: clang's -Wthread-safety, which peal's own clang builds
// turn on. To other compilers these macros are nothing. See https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
//   Mutex mutex_;
//   int hits_ PEAL_GUARDED_BY(mutex_) = 0;
//   void count() PEAL_REQUIRES(mutex_);
#pragma once

#ifdef __clang__
#define PEAL_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define PEAL_THREAD_ANNOTATION(...)
#endif

// A variable; what a pointer points to.
#define PEAL_GUARDED_BY(mutex) PEAL_THREAD_ANNOTATION(guarded_by(mutex))
#define PEAL_PT_GUARDED_BY(mutex) PEAL_THREAD_ANNOTATION(pt_guarded_by(mutex))

// A function to be called with the lock held; without it.
#define PEAL_REQUIRES(...) PEAL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define PEAL_EXCLUDES(...) PEAL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// For those who write locks.
#define PEAL_CAPABILITY(name) PEAL_THREAD_ANNOTATION(capability(name))
#define PEAL_SCOPED_CAPABILITY PEAL_THREAD_ANNOTATION(scoped_lockable)
#define PEAL_ACQUIRE(...) PEAL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define PEAL_RELEASE(...) PEAL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define PEAL_TRY_ACQUIRE(...) PEAL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define PEAL_ASSERTS_HELD(...) PEAL_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define PEAL_NO_THREAD_SAFETY_ANALYSIS PEAL_THREAD_ANNOTATION(no_thread_safety_analysis)
