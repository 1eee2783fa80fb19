// SPDX-License-Identifier: BSD-3-Clause
// The world's errors are values: a call that can fail for a reason outside the program returns Result<T>.
// Errors are std::error_code: errno values (std::generic_category) or peal's own (`Trouble`).
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <system_error>

namespace peal {

template <class T>
using Result = std::expected<T, std::error_code>;

// What can go wrong that has no errno of its own. docs/troubles.md has the usual cause and the cure of each.
enum class Trouble : int {
  kUnsupportedEngine = 1,  // the engine asked for by name cannot run on this machine
  kBadAddress,             // the text is not an address peal understands
  kNameNotAddress,         // the text is a name and a port where only a numeric address will do
  kNoPort,                 // the text may be a host, but no port follows it
  kBadPort,                // what follows the host is no number from 0 to 65535
  kPathTooLong,            // a unix socket path longer than sockaddr_un holds (107 bytes)
  kLoopStopped,            // the loop this was meant for has stopped
  kBadHistogram,           // the text is not an encoded histogram, or not one peal can hold
  kHostNotFound,           // no host has this name, or it has no address
  kNoAnswer,               // no name server answered in time
  kNameServerFailed,       // the name servers refused or failed to answer
  kTooManyLookups,         // ResolverOptions::most_pending lookups are under way
  kTruncated,              // the stream ended inside a message, or without the end mark of its layer
  kMessageTooLong,         // a peer's message is longer than its framing allows
  kMessageTooShort,        // the length of a peer's message is smaller than the least that its framing needs
  kBadMessage,             // a peer's message breaks the protocol in another way: for Connection::refuse()
  kBadChecksum,            // the checksum of a peer's message is not that of its bytes
  kBadMessageName,         // the type name in a peer's message does not fit into it, or has no end
  kUnknownMessageType,     // nobody has said what to do with messages of the type, or the tag, of a peer's message
  kUnreadableMessage,      // a peer's message cannot be parsed as its type, or lacks a required field
};

const std::error_category& trouble_category() noexcept;
inline std::error_code make_error_code(Trouble trouble) noexcept {
  return {static_cast<int>(trouble), trouble_category()};
}

inline std::error_code errno_code(int errno_value) { return {errno_value, std::generic_category()}; }
// `return fail(EPIPE);`, `return fail(Trouble::kBadAddress);`
inline std::unexpected<std::error_code> fail(int errno_value) { return std::unexpected(errno_code(errno_value)); }
inline std::unexpected<std::error_code> fail(Trouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

template <>
struct std::is_error_code_enum<peal::Trouble> : std::true_type {};
