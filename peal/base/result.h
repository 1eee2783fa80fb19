// SPDX-License-Identifier: BSD-3-Clause
// Result<T> is what a function returns that can fail for a reason outside the program: a value or a std::error_code.
// The code is an errno value (std::generic_category) or one of peal's own (`Trouble`).
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <system_error>

namespace peal {

// A value of type T or an error.
template <class T>
using Result = std::expected<T, std::error_code>;

// The errors that have no errno value. docs/troubles.md has the usual cause and the cure of each.
enum class Trouble : int {
  kUnsupportedEngine = 1,  // the engine that was requested by name cannot run on this machine
  kBadAddress,             // the text is not an address peal understands
  kNameNotAddress,         // the text is a host name and a port, but a numeric address is required
  kNoHost,                 // the text is a port alone, such as "8080" or ":8080"
  kNoPort,                 // the text may be a host, but has no port
  kBadPort,                // the port is not a number from 0 to 65535
  kPathTooLong,            // the path of a unix socket is longer than sockaddr_un can hold (107 bytes)
  kLoopStopped,            // the loop that was to run the task has stopped
  kBadHistogram,           // the text is not an encoded histogram, or is one that peal cannot represent
  kHostNotFound,           // no host has this name, or the host has no address
  kNoAnswer,               // no name server answered in time
  kNameServerFailed,       // the name servers refused or failed to answer
  kTooManyLookups,         // ResolverOptions::most_pending lookups are in progress already
  kTruncated,              // the stream ended inside a message, or its layer (TLS) ended without a closing alert
  kMessageTooLong,         // a peer's message is longer than the limit of its framing
  kMessageTooShort,        // the length field of a peer's message is below the minimum of its framing
  kBadMessage,             // a peer's message breaks the protocol in another way; for calls of Connection::refuse()
  kBadChecksum,            // the checksum of a peer's message does not match its bytes
  kBadMessageName,         // the type name in a peer's message is longer than the message or not terminated
  kUnknownMessageType,     // no handler is registered for the type, or the tag, of a peer's message
  kUnreadableMessage,      // a peer's message cannot be parsed as its type, or lacks a required field
};

// Returns the category of all Trouble codes. Its message() describes the error in a sentence.
const std::error_category& trouble_category() noexcept;
inline std::error_code make_error_code(Trouble trouble) noexcept {
  return {static_cast<int>(trouble), trouble_category()};
}

// Returns an errno value as an error code.
inline std::error_code errno_code(int errno_value) { return {errno_value, std::generic_category()}; }

// Returns an error that converts to every Result<T>: `return fail(EPIPE);`, `return fail(Trouble::kBadAddress);`.
inline std::unexpected<std::error_code> fail(int errno_value) { return std::unexpected(errno_code(errno_value)); }
inline std::unexpected<std::error_code> fail(Trouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

// Lets a Trouble convert to std::error_code implicitly, so that `error == Trouble::kNoPort` compiles.
template <>
struct std::is_error_code_enum<peal::Trouble> : std::true_type {};
