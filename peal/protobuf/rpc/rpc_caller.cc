// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_caller.h>

#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/protobuf/rpc/parts/rpc_calls.h>

namespace peal {
namespace {

// A call that is made by protobuf's stubs. It parses the answer into the caller's message and runs the caller's
// closure.
class StubCall final : public detail::RpcOwnedPending {
 public:
  StubCall(google::protobuf::RpcController* controller, google::protobuf::Message* response,
           google::protobuf::Closure* done)
      : controller_(controller), response_(*response), done_(*done) {}

 private:
  bool answered(const MessageBytes& bytes) override {
    const bool is_read = bytes.parse_into(response_);
    if (is_read) {
      done_.Run();
    } else {
      failed(make_error_code(RpcTrouble::kBadResponse));
    }
    return is_read;
  }
  void failed(std::error_code error) override {
    if (controller_ != nullptr) controller_->SetFailed(error.message());
    done_.Run();
  }
  void dropped() override { failed(errno_code(ECANCELED)); }

  google::protobuf::RpcController* const controller_;
  google::protobuf::Message& response_;
  google::protobuf::Closure& done_;
};

}  // namespace

RpcCaller::RpcCaller(std::shared_ptr<detail::RpcCalls> calls) : calls_(std::move(calls)) {}

RpcCaller::~RpcCaller() = default;

bool RpcCaller::cancel(RpcCallId call) { return calls_->withdraw(call.number, ECANCELED); }

void RpcCaller::CallMethod(const google::protobuf::MethodDescriptor* method,
                           google::protobuf::RpcController* controller, const google::protobuf::Message* request,
                           google::protobuf::Message* response, google::protobuf::Closure* done) {
  PEAL_ASSERT(request != nullptr && response != nullptr && done != nullptr,
              "{} is called without a request, a response or done", method->full_name());
  start(*method, *request, std::make_unique<StubCall>(controller, response, done), kUsualDeadline);
}

uint64_t RpcCaller::start(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
                          std::unique_ptr<detail::RpcOwnedPending> pending, Duration deadline) {
  return calls_->start_owned(std::move(pending), method, request, calls_->timeout_of(deadline));
}

}  // namespace peal
