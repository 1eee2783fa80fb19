// SPDX-License-Identifier: BSD-3-Clause
// SimFault: one fault that struck in a SimWorld, such as a reset or a lost datagram.
//
// A chance is a moment at which a fault of one kind may strike, for example each packet for kReset. The chances of each
// kind are numbered on their own. If one operation is a chance for several kinds, the world draws for all of them
// before it looks at a result. So leaving one fault out does not renumber the chances of other kinds, unless the
// program reacts to it differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal {

// The kinds of faults. SimOptions explains each kind and has its probability.
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

// Returns the name of a kind for reports: "reset", "short read", ...
std::string_view sim_fault_name(SimFaultKind kind);

struct SimFault {
  SimFaultKind kind;
  uint64_t nth;  // the number of the chance at which it struck, counted per kind from 0
  Duration at;   // the world's time when it struck, since the world began

  // The fault struck a packet, datagram or connect on its way from `from` to `to`. If `from` is unset, the fault
  // happened at the host `to`.
  SocketAddress from;
  SocketAddress to;

  std::string file = {};  // the file that a disk fault struck, on the machine `to`

  // Returns a line for reports: "reset of 10.0.0.2:32768 -> 10.0.0.1:7 at 00:01.204000".
  std::string text() const;
};

}  // namespace peal
