// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_trouble.h>

namespace peal {
namespace {

class RpcTroubleCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "rpc"; }
  std::string message(int value) const override {
    switch (static_cast<RpcTrouble>(value)) {
      case RpcTrouble::kWrongProtocol: return "the server says that the call breaks its protocol";
      case RpcTrouble::kNoService: return "the server has no such service";
      case RpcTrouble::kNoMethod: return "the server's service has no such method";
      case RpcTrouble::kBadRequest: return "the server cannot read the request";
      case RpcTrouble::kBadResponse: return "the server made no response that can be read";
      case RpcTrouble::kTimeout: return "the server did not finish the call before its deadline";
      case RpcTrouble::kOverloaded: return "the server has too many calls under way";
      case RpcTrouble::kNotConnected: return "there is no connection to the server: the call was not sent";
      case RpcTrouble::kConnectionLost: return "the connection ended before the answer: the call may have been done";
      case RpcTrouble::kTooManyCalls: return "too many calls are under way: the call was not sent";
    }
    return "the server answers with an unknown error: " + std::to_string(value);
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<RpcTrouble>(value)) {
      case RpcTrouble::kTimeout: return std::errc::timed_out;
      case RpcTrouble::kNotConnected: return std::errc::not_connected;
      default: return {value, *this};
    }
  }
};

}  // namespace

const std::error_category& rpc_trouble_category() noexcept {
  static const RpcTroubleCategory category;
  return category;
}

}  // namespace peal
