// SPDX-License-Identifier: BSD-3-Clause
// Fiber: a stackful coroutine: a function on a stack of its own, which may stop anywhere, however deep in calls, and be
// gone on with later. Its stack is changed by the C library's contexts or by Boost.Context, as one likes:
//
//   loop's stack:  resume() ──┐         ┌──> resume() returns
//   own stack:                └─> body ─┘ suspend(), or the end of the body
//
// The C library's swapcontext(3) saves all registers and asks the kernel for the signal mask, twice a round trip;
// Boost's jump saves what a call must keep and asks nobody.
// One thread. A Fiber is its pool's.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <models/common/coroutine/fiber_notes.h>
#include <models/common/coroutine/waiter.h>
#include <models/common/model_options.h>
#include <peal/base/result.h>

namespace peal::models {

// Memory for a stack, with a page below it that nobody may touch: who needs more than there is dies at once.
class FiberStack {
 public:
  static constexpr size_t kBytes = 128 * 1024;  // sanitized frames are large; what is not touched costs nothing

  // ENOMEM, also when the process has as many mappings as it may (vm.max_map_count).
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

// One way to change stacks.
class StackSwitch {
 public:
  using Entry = void (*)(void* argument);

  // `entry(argument)`, which never returns, begins on the stack at the first enter().
  static std::unique_ptr<StackSwitch> make(Contexts contexts, const FiberStack& stack, Entry entry, void* argument);
  virtual ~StackSwitch() = default;

  virtual void enter() = 0;  // from the resumer; returns at the next leave()
  virtual void leave() = 0;  // from the stack; returns at the next enter()
};

class FiberPool;

class Fiber final : public Waiter {
 public:
  // Called with the fiber it runs on. A pointer: g++ 12 wants to know the size of what a reference refers to.
  using Body = std::move_only_function<void(Fiber*)>;

  Fiber(FiberPool& pool, Contexts contexts, FiberStack stack);
  // It has no body.
  ~Fiber();

  // What it does from the next resume() on; then it goes back to its pool. It has no body now.
  void start(Body body);
  // Not from a fiber. An exception that leaves the body ends the body, and is logged.
  void resume() override;
  // From its body: back to who resumed it.
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
