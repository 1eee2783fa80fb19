// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/fiber.h>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include <boost/context/detail/fcontext.hpp>

#include <models/common/coroutine/fiber_pool.h>
#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::models {
namespace {

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// makecontext(3) can pass only int arguments to a function. Therefore CSwitch passes a 64-bit pointer as two ints.
constexpr unsigned kHalfBits = 32;
struct CStart {
  StackSwitch::Entry entry;
  void* argument;
};
void begin_c(unsigned high, unsigned low) {
  const uintptr_t address = (uintptr_t{high} << kHalfBits) | low;
  const CStart* start = reinterpret_cast<const CStart*>(address);
  start->entry(start->argument);
}

class CSwitch final : public StackSwitch {
 public:
  CSwitch(const FiberStack& stack, Entry entry, void* argument) : start_{entry, argument} {
    ::getcontext(&own_);
    own_.uc_stack.ss_sp = stack.bottom();
    own_.uc_stack.ss_size = FiberStack::kBytes;
    own_.uc_link = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(&start_);
    ::makecontext(&own_, reinterpret_cast<void (*)()>(begin_c), 2, static_cast<unsigned>(address >> kHalfBits),
                  static_cast<unsigned>(address));
  }
  void enter() override { ::swapcontext(&resumer_, &own_); }
  void leave() override { ::swapcontext(&own_, &resumer_); }

 private:
  const CStart start_;
  ucontext_t own_{};
  ucontext_t resumer_{};
};

class BoostSwitch final : public StackSwitch {
 public:
  BoostSwitch(const FiberStack& stack, Entry entry, void* argument)
      : entry_(entry),
        argument_(argument),
        own_(boost::context::detail::make_fcontext(stack.top(), FiberStack::kBytes, begin)) {}
  void enter() override { own_ = boost::context::detail::jump_fcontext(own_, this).fctx; }
  void leave() override { resumer_ = boost::context::detail::jump_fcontext(resumer_, nullptr).fctx; }

 private:
  static void begin(boost::context::detail::transfer_t from) {
    auto* self = static_cast<BoostSwitch*>(from.data);
    self->resumer_ = from.fctx;
    self->entry_(self->argument_);
  }

  const Entry entry_;
  void* const argument_;
  boost::context::detail::fcontext_t own_;
  boost::context::detail::fcontext_t resumer_ = nullptr;
};

}  // namespace

Result<FiberStack> FiberStack::make() {
  const size_t bytes = kBytes + page_bytes();
  void* mapping =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) return fail(errno);
  FiberStack stack(mapping);
  if (::mprotect(mapping, page_bytes(), PROT_NONE) != 0) return fail(errno);
  return stack;
}

FiberStack::~FiberStack() {
  if (mapping_ != nullptr) ::munmap(mapping_, kBytes + page_bytes());
}

void* FiberStack::bottom() const { return static_cast<std::byte*>(mapping_) + page_bytes(); }
void* FiberStack::top() const { return static_cast<std::byte*>(bottom()) + kBytes; }

std::unique_ptr<StackSwitch> StackSwitch::make(Contexts contexts, const FiberStack& stack, Entry entry,
                                               void* argument) {
  if (contexts == Contexts::kC) return std::make_unique<CSwitch>(stack, entry, argument);
  return std::make_unique<BoostSwitch>(stack, entry, argument);
}

Fiber::Fiber(FiberPool& pool, Contexts contexts, FiberStack stack)
    : pool_(pool),
      stack_(std::move(stack)),
      notes_(stack_.bottom(), FiberStack::kBytes),
      switch_(StackSwitch::make(contexts, stack_, enter, this)) {}

// Switches to the fiber's stack for the last time. The loop in live() then ends, because leaves_for_good_ is true, and
// live() calls notes_.leaving(true). This call tells the address sanitizer that the fiber's stack is not used any more,
// so that the sanitizer frees its data about the stack. The call must be made on the fiber's stack, because the
// sanitizer applies the call to the current stack. Without the address sanitizer, the switch is not necessary but
// harmless.
Fiber::~Fiber() {
  PEAL_ASSERT(!has_body_, "a fiber is destroyed before its body has ended");
  leaves_for_good_ = true;
  notes_.entering();
  switch_->enter();
  notes_.returned();
}

void Fiber::start(Body body) {
  PEAL_ASSERT(!has_body_, "start() was called on a fiber that has a body already");
  body_ = std::move(body);
  has_body_ = true;
}

void Fiber::resume() {
  PEAL_ASSERT(has_body_, "resume() was called on a fiber without a body");
  notes_.entering();
  switch_->enter();
  notes_.returned();
  if (!has_body_) pool_.give_back(*this);
}

void Fiber::suspend() {
  notes_.leaving(false);
  switch_->leave();
  notes_.arrived();
}

void Fiber::enter(void* fiber) { static_cast<Fiber*>(fiber)->live(); }

void Fiber::live() {
  notes_.arrived();
  while (!leaves_for_good_) {
    run_body();
    suspend();
  }
  notes_.leaving(true);
  switch_->leave();
  PEAL_ASSERT(false, "a fiber was resumed after its stack was left for the last time");
}

// Runs the fiber's function. Catches the exceptions of the function, because an exception must not pass from the
// fiber's stack to another stack.
void Fiber::run_body() {
  try {
    body_(this);
  } catch (const std::exception& thrown) {
    PEAL_LOG_WARN("a coroutine ended with an uncaught exception: {}", thrown.what());
  }
  body_ = nullptr;
  has_body_ = false;
}

}  // namespace peal::models
