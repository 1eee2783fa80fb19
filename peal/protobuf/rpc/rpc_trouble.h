// SPDX-License-Identifier: BSD-3-Clause
// The errors of a remote call, besides ETIMEDOUT (its own deadline), ECANCELED and Trouble::kLoopStopped.
// docs/troubles.md has the usual cause and the cure of each.
#pragma once

#include <expected>
#include <string>
#include <system_error>

#include <peal/base/result.h>

namespace peal {

enum class RpcTrouble : int {
  // The server's answer, with the numbers that muduo's RPC has for them (ErrorCode in its rpc.proto).
  kWrongProtocol = 1,
  kNoService = 2,
  kNoMethod = 3,
  kBadRequest = 4,   // the server cannot parse the request
  kBadResponse = 5,  // the server has failed to make a response; also: its response cannot be parsed here
  kTimeout = 6,      // the deadline passed at the server. Equals std::errc::timed_out
  // The server's answer, with a number that only peal has. muduo's client takes it for an empty response.
  kOverloaded = 100,  // RpcServerOptions::most_calls are under way
  // Not an answer.
  kNotConnected = 200,  // the call was never sent. Equals std::errc::not_connected
  kConnectionLost,      // the call was sent, and the connection ended before its answer: it may have been carried out
  kTooManyCalls,        // RpcChannelOptions::most_calls or most_unsent_bytes are reached; the call was not sent
};

const std::error_category& rpc_trouble_category() noexcept;
inline std::error_code make_error_code(RpcTrouble trouble) noexcept {
  return {static_cast<int>(trouble), rpc_trouble_category()};
}
inline std::unexpected<std::error_code> fail(RpcTrouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

template <>
struct std::is_error_code_enum<peal::RpcTrouble> : std::true_type {};
