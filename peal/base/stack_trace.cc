// SPDX-License-Identifier: BSD-3-Clause
// libgcc walks the stack (without a lock, since glibc finds unwind tables without one); libbacktrace, and only here,
// reads DWARF, under a lock of ours: sanitizers cannot see its own. Its state lives for ever: it has no destructor.
#include <peal/base/stack_trace.h>

#include <backtrace.h>
#include <cxxabi.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <peal/base/demangled.h>
#include <peal/base/mutex.h>

namespace peal {
namespace {

struct Walk {
  RawTrace& trace;
  std::size_t skip;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  int before_instruction = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &before_instruction);
  if (address == 0 || walk.trace.count == walk.trace.addresses.size()) return _URC_END_OF_STACK;
  if (walk.skip > 0) {
    --walk.skip;
    return _URC_NO_REASON;
  }
  // A return address may already belong to the next line; where a signal struck is exact.
  walk.trace.addresses[walk.trace.count++] = before_instruction != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

void ignore_error(void*, const char*, int) {}

constinit Mutex mutex;

backtrace_state* debug_information() PEAL_REQUIRES(mutex) {
  static backtrace_state* const state = backtrace_create_state(nullptr, 0, ignore_error, nullptr);
  return state;
}

struct Place {
  const char* function;
  const char* file;
  int line;
};

int add_place(void* places, uintptr_t, const char* file, int line, const char* function) {
  // clang's absolute names arrive with the folder of the compilation before them.
  if (const char* joint = file != nullptr ? std::strstr(file, "//") : nullptr) file = joint + 1;
  if (function != nullptr) static_cast<std::vector<Place>*>(places)->push_back({function, file, line});
  return 0;
}

void set_symbol(void* symbol, uintptr_t, const char* name, uintptr_t, uintptr_t) {
  *static_cast<const char**>(symbol) = name;
}

// What runs at `address`: the innermost inlined call first, the function that is really there last.
std::vector<Place> places_of(uintptr_t address) PEAL_REQUIRES(mutex) {
  std::vector<Place> places;
  const char* symbol = nullptr;
  if (backtrace_state* state = debug_information(); state != nullptr) {
    backtrace_pcinfo(state, address, add_place, ignore_error, &places);
    backtrace_syminfo(state, address, set_symbol, ignore_error, static_cast<void*>(&symbol));
  }
  if (places.empty()) places.push_back({nullptr, nullptr, 0});
  // DWARF gives a function of internal linkage only its bare name; the symbol has namespace and parameters as well.
  if (symbol != nullptr) places.back().function = symbol;
  return places;
}

}  // namespace

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return name != nullptr ? name.get() : symbol;
}

[[gnu::noinline]] void capture(RawTrace& trace, std::size_t skip) noexcept {
  trace.count = 0;
  Walk walk{trace, skip + 1};  // the first frame is this function
  _Unwind_Backtrace(step, &walk);
}

void warm_up_stack_traces() noexcept {
  RawTrace trace;
  capture(trace);
}

std::string describe(const RawTrace& trace) {
  MutexLock lock(mutex);
  std::string text;
  for (std::size_t frame = 0; frame < trace.count; ++frame) {
    const uintptr_t address = trace.addresses[frame];
    for (const Place& place : places_of(address)) {
      text += fmt::format("#{} ", frame);
      if (place.function != nullptr) {
        text += demangled(place.function);
      } else {
        text += fmt::format("{:#x}", address);
      }
      if (place.file != nullptr) text += fmt::format(" at {}:{}", place.file, place.line);
      text += '\n';
    }
  }
  return text;
}

}  // namespace peal
