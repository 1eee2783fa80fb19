// SPDX-License-Identifier: BSD-3-Clause
// capture() uses the unwinder of libgcc, which takes no lock because glibc finds unwind tables without one. describe()
// uses libbacktrace to read DWARF, and no other file uses that library. A mutex of this file guards it: thread
// sanitizers cannot see the lock inside libbacktrace. The state of libbacktrace is never freed, since the library
// cannot free it.
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

// The state of one walk over a stack. The unwinder passes a pointer to it to step().
struct Walk {
  RawTrace& trace;
  std::size_t skip;
};

// Called by the unwinder for each frame, innermost first. Stores the frame's address, or skips the frame while
// Walk::skip is not 0.
_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  int before_instruction = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &before_instruction);
  if (address == 0 || walk.trace.count == walk.trace.addresses.size()) return _URC_END_OF_STACK;
  if (walk.skip > 0) {
    --walk.skip;
    return _URC_NO_REASON;
  }
  // A return address is the instruction after the call, which may belong to the next line. One byte less is inside the
  // call. The address at which a signal interrupted the code is exact and stays as it is.
  walk.trace.addresses[walk.trace.count++] = before_instruction != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

void ignore_error(void*, const char*, int) {}

constinit Mutex mutex;

// Returns libbacktrace's state, or null if it cannot be created.
backtrace_state* debug_information() PEAL_REQUIRES(mutex) {
  static backtrace_state* const state = backtrace_create_state(nullptr, 0, ignore_error, nullptr);
  return state;
}

// A function whose code is at the address of a frame. `function` is a mangled name. A member whose value is not known
// is null or 0.
struct Place {
  const char* function;
  const char* file;
  int line;
};

// Called by libbacktrace for each function at an address. Returns 0, which asks libbacktrace to continue with the next
// function.
int add_place(void* places, uintptr_t, const char* file, int line, const char* function) {
  // For files that clang compiled with an absolute name, libbacktrace puts the build folder in front of the name. The
  // build folder is cut off here.
  if (const char* joint = file != nullptr ? std::strstr(file, "//") : nullptr) file = joint + 1;
  if (function != nullptr) static_cast<std::vector<Place>*>(places)->push_back({function, file, line});
  return 0;
}

// Called by libbacktrace with the name of the symbol at an address.
void set_symbol(void* symbol, uintptr_t, const char* name, uintptr_t, uintptr_t) {
  *static_cast<const char**>(symbol) = name;
}

// Returns the functions at `address`: first the innermost inlined call, last the function that was not inlined. The
// list is never empty.
std::vector<Place> places_of(uintptr_t address) PEAL_REQUIRES(mutex) {
  std::vector<Place> places;
  const char* symbol = nullptr;
  if (backtrace_state* state = debug_information(); state != nullptr) {
    backtrace_pcinfo(state, address, add_place, ignore_error, &places);
    backtrace_syminfo(state, address, set_symbol, ignore_error, static_cast<void*>(&symbol));
  }
  if (places.empty()) places.push_back({nullptr, nullptr, 0});
  // For a function of internal linkage, DWARF has only the bare name. The name of the symbol also has the namespace and
  // the parameters.
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
  Walk walk{trace, skip + 1};  // the first frame is capture() itself
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
