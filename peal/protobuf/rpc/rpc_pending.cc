// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_pending.h>

#include <peal/base/assert.h>
#include <peal/protobuf/rpc/parts/rpc_calls.h>
#include <peal/protobuf/rpc/rpc_caller.h>

namespace peal::detail {

Duration RpcCallWait::usual_timeout() const { return calls_->timeout_of(RpcCaller::kUsualDeadline); }

bool RpcCallWait::start() {
  PEAL_ASSERT(calls_->may_be_touched_here(),
              "a coroutine of another loop awaits a call of {}: use run_on() to await it on the caller's loop",
              method_.full_name());
  try {
    const Result<uint64_t> id = calls_->start(*this, method_, request_, timeout_);
    if (id) {
      id_ = *id;
      return true;
    }
    failure_ = id.error();
  } catch (...) {
    refuse(0);
    throw;
  }
  return refuse(0);
}

void RpcCallWait::cancel(Why why) noexcept {
  calls_->withdraw(id_, why);
  complete(why);
}

bool RpcCallWait::answered(const MessageBytes& bytes) {
  const bool is_read = bytes.parse_into(response_);
  if (!is_read) failure_ = make_error_code(RpcTrouble::kBadResponse);
  complete(0);
  return is_read;
}

void RpcCallWait::failed(std::error_code error) {
  failure_ = error;
  complete(0);
}

void RpcCallWait::dropped() {
  PEAL_ASSERT(!strand().loop().mailbox()->open(), "an RpcCaller is destroyed while a coroutine awaits its call {}",
              id_);
  failed(make_error_code(Trouble::kLoopStopped));
}

}  // namespace peal::detail
