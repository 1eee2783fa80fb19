// SPDX-License-Identifier: BSD-3-Clause
#include <cli/rpc/rpc_asker.h>

#include <cerrno>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>
#include <peal/base/assert.h>
#include <peal/coro/connect.h>
#include <peal/sync/callback_await.h>

namespace peal::cli {
namespace {

using muduo::net::RpcService;

// The largest request, in bytes. A call is sent as one RPC message, which contains the request and also the names of
// the service and the method. 4096 bytes are left for these names, because CallMethod() throws an exception if the RPC
// message has more than kMostMessageBytes bytes.
constexpr size_t kMostRequestBytes = kMostMessageBytes - 4096;

RpcChannelOptions options_of(Duration timeout) {
  RpcChannelOptions options;
  options.client.retry = {};
  options.client.connect_timeout = timeout;
  options.deadline = timeout;
  return options;
}

// CallEnd passes the error text of a call to `done` when the call has ended. The error text is empty if the call
// succeeded. For each call, protobuf needs an RpcController, which receives the error text, and a Closure, which runs
// when the call has ended. A CallEnd serves as both objects.
class CallEnd final : public google::protobuf::RpcController, public google::protobuf::Closure {
 public:
  explicit CallEnd(Completion<std::string> done) : done_(std::move(done)) {}

 private:
  void Reset() override {}
  bool Failed() const override { return !failure_.empty(); }
  std::string ErrorText() const override { return failure_; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override { failure_ = reason; }
  bool IsCanceled() const override { return false; }
  void NotifyOnCancel(google::protobuf::Closure*) override {}
  void Run() override {
    const std::unique_ptr<CallEnd> self(this);
    done_(std::move(failure_));
  }

  std::string failure_;
  Completion<std::string> done_;
};

}  // namespace

RpcAsker::RpcAsker(Loop& loop, std::string target, const SocketAddress& address, Duration timeout)
    : target_(std::move(target)), address_(address), timeout_(timeout), channel_(loop, options_of(timeout)) {
  const Result<void> begun = channel_.connect(address_);
  PEAL_ASSERT(begun, "connecting to {} cannot begin: {}", target_, begun.error().message());
}

Task<RpcAsker::Answer<muduo::net::ListRpcResponse>> RpcAsker::list() {
  muduo::net::ListRpcRequest request;
  request.set_list_method(true);
  Result<muduo::net::ListRpcResponse> answer = co_await channel_.call(&RpcService::listRpc, request);
  if (!answer) co_return std::unexpected(co_await why_not_told(answer.error()));
  co_return std::move(*answer);
}

Task<RpcAsker::Answer<muduo::net::GetServiceResponse>> RpcAsker::definitions(std::string service) {
  muduo::net::GetServiceRequest request;
  request.set_service_name(std::move(service));
  Result<muduo::net::GetServiceResponse> answer = co_await channel_.call(&RpcService::getService, request);
  if (!answer) co_return std::unexpected(co_await why_not_told(answer.error()));
  co_return std::move(*answer);
}

Task<RpcAsker::Answer<void>> RpcAsker::call(const google::protobuf::MethodDescriptor& method,
                                            const google::protobuf::Message& request,
                                            google::protobuf::Message& response) {
  if (request.ByteSizeLong() > kMostRequestBytes) {
    co_return std::unexpected(
        CommandTrouble(kFailed, fmt::format("the request has more than {} bytes", kMostRequestBytes)));
  }
  const auto start = [&](Completion<std::string> done) {
    auto* const end = new CallEnd(std::move(done));  // deletes itself when the call ends
    channel_.CallMethod(&method, end, &request, &response, end);
  };
  const Result<std::string> failure = co_await callback_await<std::string>(start);
  if (!failure) co_return std::unexpected(co_await why(failure.error()));
  if (failure->empty()) co_return {};
  // Both error texts of a timeout lead to the same error message, which names the server and `timeout_`. The error text
  // comes from this program (ETIMEDOUT) or from the server (kTimeout), because this program sends the deadline to the
  // server, and both watch it. A server may also have a shorter limit of its own.
  for (const std::error_code late : {errno_code(ETIMEDOUT), make_error_code(RpcTrouble::kTimeout)}) {
    if (*failure == late.message()) co_return std::unexpected(co_await why(errno_code(ETIMEDOUT)));
  }
  co_return std::unexpected(CommandTrouble(kFailed, fmt::format("{} failed: {}", method.full_name(), *failure)));
}

Task<CommandTrouble> RpcAsker::why(std::error_code error) {
  if (error == make_error_code(RpcTrouble::kNotConnected)) {
    const Result<Stream> again = co_await connect(address_.to_string(), {.connect_timeout = timeout_});
    const std::error_code cause = again ? error : again.error();
    co_return CommandTrouble(kFailed, fmt::format("cannot connect to {}: {}", target_, cause.message()));
  }
  if (error == errno_code(ETIMEDOUT)) {
    const char* const what =
        channel_.is_connected() ? "{} did not answer within {}" : "{} accepted no connection within {}";
    co_return CommandTrouble(kFailed, fmt::format(fmt::runtime(what), target_, load::human_time(timeout_)));
  }
  if (error == make_error_code(RpcTrouble::kConnectionLost)) {
    co_return CommandTrouble(
        kFailed, fmt::format("{} ended the connection before it answered: is it a server of this RPC?", target_));
  }
  co_return CommandTrouble(kFailed, fmt::format("{}: {}", target_, error.message()));
}

Task<CommandTrouble> RpcAsker::why_not_told(std::error_code error) {
  if (error == make_error_code(RpcTrouble::kNoService) || error == make_error_code(RpcTrouble::kNoMethod)) {
    co_return CommandTrouble(kFailed, fmt::format("{} does not tell what it serves: it has no muduo.net.RpcService "
                                                  "(RpcServer::add_reflection() adds it)",
                                                  target_));
  }
  co_return co_await why(error);
}

}  // namespace peal::cli
