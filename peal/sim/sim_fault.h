// SPDX-License-Identifier: BSD-3-Clause
// SimFault: one thing that went wrong in a SimWorld. Each kind has a stream of chances of its own, and all kinds that
// one occasion may meet are drawn before any is looked at: so whether one strikes renumbers none of the other kinds',
// unless the program then does something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal {

// As SimOptions has them.
enum class SimFaultKind : uint8_t {
  kShortRead,
  kShortWrite,
  kInterrupted,
  kAgain,
  kLate,
  kReset,
  kVanish,
  kRefuse,
  kUnreachable,
  kSwallow,
  kNoFd,
  kLoseDatagram,
  kDoubleDatagram,
  kOvertakenDatagram,
  kDiskError,
  kLoseUnsynced,
  kTearUnsynced,
};
inline constexpr size_t kSimFaultKinds = 17;

// "reset", "short read", ...
std::string_view sim_fault_name(SimFaultKind kind);

struct SimFault {
  SimFaultKind kind;
  uint64_t nth;        // of its kind's chances, from 0; most chances do not strike
  Duration at;         // since the world began
  SocketAddress from;  // what it struck travelled so, or was to; unset: it happened at `to`
  SocketAddress to;
  std::string file = {};  // of the disk of the machine `to`

  // "reset of 10.0.0.2:32768 -> 10.0.0.1:7 at 00:01.204000"
  std::string text() const;
};

}  // namespace peal
