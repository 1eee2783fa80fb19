// SPDX-License-Identifier: BSD-3-Clause
// RpcTrouble has the errors of a remote call. A call may also fail with ETIMEDOUT (at its own deadline), ECANCELED or
// Trouble::kLoopStopped. docs/troubles.md has the usual cause and the cure of each error.
#pragma once

#include <expected>
#include <string>
#include <system_error>

#include <peal/base/result.h>

namespace peal {

enum class RpcTrouble : int {
  // Errors with which a server answers. Their numbers are those of muduo's RPC (ErrorCode in its rpc.proto).
  kWrongProtocol = 1,
  kNoService = 2,
  kNoMethod = 3,
  kBadRequest = 4,   // the server cannot parse the request
  kBadResponse = 5,  // the server failed to make a response, or the client cannot parse the response or the error
  kTimeout = 6,      // the deadline passed at the server. Equals std::errc::timed_out

  // An error with which only a peal server answers. muduo's client takes such an answer for an empty response.
  kOverloaded = 100,  // RpcServerOptions::most_calls calls are in progress

  // Errors that the client itself finds. If a server answers with one of them, the client reports kBadResponse.
  kNotConnected = 200,  // the call was never sent. Equals std::errc::not_connected
  kConnectionLost,      // the connection ended after the call was sent; the server may have carried the call out
  kTooManyCalls,        // RpcChannelOptions::most_calls or most_unsent_bytes is reached; the call was not sent
};

const std::error_category& rpc_trouble_category() noexcept;
inline std::error_code make_error_code(RpcTrouble trouble) noexcept {
  return {static_cast<int>(trouble), rpc_trouble_category()};
}
inline std::unexpected<std::error_code> fail(RpcTrouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

template <>
struct std::is_error_code_enum<peal::RpcTrouble> : std::true_type {};
