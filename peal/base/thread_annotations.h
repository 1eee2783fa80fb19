// SPDX-License-Identifier: BSD-3-Clause
// Macros that state which mutex guards which data. clang checks them at compile time with -Wthread-safety, which peal's
// clang builds turn on. For other compilers the macros are empty. Each macro stands for the attribute of the same name;
// see https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
//   Mutex mutex_;
//   int hits_ PEAL_GUARDED_BY(mutex_) = 0;
//   void count() PEAL_REQUIRES(mutex_);
#pragma once

#ifdef __clang__
#define PEAL_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define PEAL_THREAD_ANNOTATION(...)
#endif

// PEAL_GUARDED_BY, at a member variable: the variable may be used only while `mutex` is held. PEAL_PT_GUARDED_BY, at a
// pointer: the object that the pointer points to may be used only while `mutex` is held.
#define PEAL_GUARDED_BY(mutex) PEAL_THREAD_ANNOTATION(guarded_by(mutex))
#define PEAL_PT_GUARDED_BY(mutex) PEAL_THREAD_ANNOTATION(pt_guarded_by(mutex))

// PEAL_REQUIRES, at a function: its callers must hold the mutex. PEAL_EXCLUDES: its callers must not hold the mutex.
#define PEAL_REQUIRES(...) PEAL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define PEAL_EXCLUDES(...) PEAL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// For classes that are locks, such as Mutex and MutexLock, and for their functions. PEAL_CAPABILITY is for a mutex,
// PEAL_SCOPED_CAPABILITY for an object that holds a mutex during its lifetime.
// PEAL_ACQUIRE, PEAL_RELEASE, PEAL_TRY_ACQUIRE and PEAL_ASSERTS_HELD say what a function does with the mutex.
// PEAL_NO_THREAD_SAFETY_ANALYSIS turns the check off for a function.
#define PEAL_CAPABILITY(name) PEAL_THREAD_ANNOTATION(capability(name))
#define PEAL_SCOPED_CAPABILITY PEAL_THREAD_ANNOTATION(scoped_lockable)
#define PEAL_ACQUIRE(...) PEAL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define PEAL_RELEASE(...) PEAL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define PEAL_TRY_ACQUIRE(...) PEAL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define PEAL_ASSERTS_HELD(...) PEAL_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define PEAL_NO_THREAD_SAFETY_ANALYSIS PEAL_THREAD_ANNOTATION(no_thread_safety_analysis)
