// SPDX-License-Identifier: BSD-3-Clause
// Stack traces are taken in two steps. capture() stores the addresses of the stack in a fixed array: it is cheap enough
// for every exception and may run in a signal handler. describe() converts the addresses to text later, on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace peal {

// The addresses of a stack, innermost frame first. The address of a frame that made a call lies inside the call
// instruction, so it belongs to the line of the call. Frames beyond the 48 innermost ones are left out.
struct RawTrace {
  std::array<uintptr_t, 48> addresses{};
  std::size_t count = 0;
};

// Writes the stack of the calling thread to `trace`, without its innermost `skip` frames. Frame 0 is the function that
// calls capture(). Any thread.
//
// After warm_up_stack_traces() has returned, capture() allocates no memory and takes no lock, so it is
// async-signal-safe. In a signal handler the trace also contains the frames of the code that the signal interrupted.
void capture(RawTrace& trace, std::size_t skip = 0) noexcept;

// Does the work that otherwise the first capture() of the process would do, such as binding symbols and allocating
// tables. Must be called before capture() is used in a signal handler.
void warm_up_stack_traces() noexcept;

// Returns the trace as text, with one line for each frame: "#3 peal::Loop::turn() at /src/peal/loop/loop.cc:120". Each
// line ends with a newline. A call that was inlined has a line of its own. Without debug information a line has no
// file, and a frame without a symbol is shown as its address.
//
// Any thread. The first call reads the debug information of the program and keeps an index of it. That takes some
// milliseconds, or some tenths of a second in a large program.
std::string describe(const RawTrace& trace);

}  // namespace peal
