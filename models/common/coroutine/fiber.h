// SPDX-License-Identifier: BSD-3-Clause
// Fiber: a stackful coroutine, which is a function on a stack of its own. The function may suspend itself anywhere,
// even deep inside nested calls, and is resumed at the same place. ModelOptions::contexts selects the code that
// switches stacks: swapcontext(3) of the C library, or Boost.Context.
//
//   loop's stack:  resume() ──┐         ┌──> resume() returns
//   own stack:                └─> body ─┘ suspend(), or the end of the body
//
// swapcontext(3) saves all registers. It also makes a system call for the signal mask. To switch to a fiber and back
// therefore costs two system calls. Boost's jump saves only the registers that a function call must preserve, and makes
// no system call.
//
// Use a Fiber on one thread only. A Fiber belongs to its pool.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <models/common/coroutine/fiber_notes.h>
#include <models/common/coroutine/waiter.h>
#include <models/common/model_options.h>
#include <peal/base/result.h>

namespace peal::models {

// The memory of one fiber's stack. The memory page directly below the stack is inaccessible, so that a stack overflow
// crashes the process immediately.
class FiberStack {
 public:
  static constexpr size_t kBytes = 128 * 1024;  // large: sanitizers need large frames; untouched pages cost nothing

  // Allocates a stack. Fails with ENOMEM in two cases:
  // - No memory is free.
  // - The process has too many memory mappings (vm.max_map_count).
  static Result<FiberStack> make();
  FiberStack(FiberStack&& other) noexcept : mapping_(std::exchange(other.mapping_, nullptr)) {}
  FiberStack& operator=(FiberStack&&) = delete;
  ~FiberStack();

  void* bottom() const;
  void* top() const;

 private:
  explicit FiberStack(void* mapping) : mapping_(mapping) {}

  void* mapping_;
};

// Switches between the stack of a fiber and the stack of the code that resumes the fiber. There are two
// implementations, one with swapcontext(3) and one with Boost.Context.
class StackSwitch {
 public:
  using Entry = void (*)(void* argument);

  // Creates a StackSwitch. The first call of enter() will call `entry(argument)` on the stack `stack`. `entry` must
  // never return.
  static std::unique_ptr<StackSwitch> make(Contexts contexts, const FiberStack& stack, Entry entry, void* argument);
  virtual ~StackSwitch() = default;

  virtual void enter() = 0;  // called on the resumer's stack; returns at the next leave()
  virtual void leave() = 0;  // called on the fiber's stack; returns at the next enter()
};

class FiberPool;

class Fiber final : public Waiter {
 public:
  // The function that a fiber runs. Its argument is a pointer to the fiber. A reference does not compile here: the
  // std::move_only_function of g++ 12 applies sizeof to the type of a reference argument, and Fiber is still
  // incomplete.
  using Body = std::move_only_function<void(Fiber*)>;

  Fiber(FiberPool& pool, Contexts contexts, FiberStack stack);
  // Destroy a fiber only if it has no function: its function has ended, or start() was never called. If a function is
  // suspended, its local variables are still on the fiber's stack, and their destructors would never run.
  ~Fiber();

  // Gives the fiber the function `body`. The next resume() starts `body`. When `body` has ended, the fiber goes back to
  // its pool. Call start() only on a fiber that has no function.
  void start(Body body);
  // Starts or continues the fiber's function. Returns when the function calls suspend() or ends. If the function throws
  // a std::exception, the exception is logged, and the function counts as ended. An exception of another type ends the
  // process. Never call resume() from inside a fiber. A fiber that resumed another fiber would stand still until the
  // other fiber suspends. A fiber that resumed itself would corrupt its stack.
  void resume() override;
  // Suspends the fiber's function: returns control to the code that called resume(). The next resume() makes suspend()
  // return. Only the fiber's function may call suspend().
  void suspend();

 private:
  static void enter(void* fiber);
  [[noreturn]] void live();
  void run_body();

  FiberPool& pool_;
  const FiberStack stack_;
  FiberNotes notes_;
  std::unique_ptr<StackSwitch> switch_;
  Body body_;
  bool has_body_ = false;
  bool leaves_for_good_ = false;
};

}  // namespace peal::models
