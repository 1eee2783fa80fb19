// SPDX-License-Identifier: BSD-3-Clause
// Where a thread is, in two steps: capture() walks the stack into a fixed array, cheap enough for an exception and
// legal in a signal handler; describe() turns the addresses into text later, on whatever thread has the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace peal {

// Addresses inside the calling instructions, the innermost frame first; what is deeper than the array is left out.
struct RawTrace {
  std::array<uintptr_t, 48> addresses{};
  std::size_t count = 0;
};

// The calling thread's stack without its innermost `skip` frames; the caller of capture() is frame 0. Any thread.
// Async-signal-safe once warm_up_stack_traces() has returned: neither allocates nor locks. From a handler of a signal
// the trace goes on into what the signal interrupted.
void capture(RawTrace& trace, std::size_t skip = 0) noexcept;

// Does what the first capture of a process would do behind its back (binding symbols, sizing tables).
void warm_up_stack_traces() noexcept;

// One line a frame, each ended by a newline: "#3 peal::Loop::turn() at /src/peal/loop/loop.cc:120"; calls that were
// inlined have lines of their own. Without debug information there is no file, without a symbol only the address.
// Any thread; the first call reads the program's debug information, which takes milliseconds, or tenths of a second in
// large programs, and keeps its index.
std::string describe(const RawTrace& trace);

}  // namespace peal
