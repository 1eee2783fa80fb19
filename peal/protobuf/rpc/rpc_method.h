// SPDX-License-Identifier: BSD-3-Clause
// rpc_method(): which method of a service `&EchoService::Echo` is. RpcMethodOf: the types of its messages.
//
// protobuf generates a virtual function for each method of a service (`option cc_generic_services = true;`), and an
// EchoService::Stub, whose functions pass their method's descriptor to a channel.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

namespace peal {

// The service and the messages of a method, which a pointer to the service's function tells.
template <class Pointer>
struct RpcMethodOf {
  static constexpr bool kIsMethod = false;
};
template <class ItsService, class ItsRequest, class ItsResponse>
struct RpcMethodOf<void (ItsService::*)(google::protobuf::RpcController*, const ItsRequest*, ItsResponse*,
                                        google::protobuf::Closure*)> {
  static constexpr bool kIsMethod = true;
  using Service = ItsService;
  using Request = ItsRequest;
  using Response = ItsResponse;
};

// A pointer like `&EchoService::Echo`, to a function that protobuf has generated.
template <class T>
concept RpcMethodPointer = RpcMethodOf<T>::kIsMethod;

namespace detail {

// Keeps the method that a stub calls. The messages are null.
class RpcMethodProbe final : public google::protobuf::RpcChannel {
 public:
  void CallMethod(const google::protobuf::MethodDescriptor* called, google::protobuf::RpcController*,
                  const google::protobuf::Message*, google::protobuf::Message*, google::protobuf::Closure*) override {
    method = called;
  }

  const google::protobuf::MethodDescriptor* method = nullptr;
};

}  // namespace detail

// Lives as long as the program. Any thread.
template <RpcMethodPointer Pointer>
const google::protobuf::MethodDescriptor& rpc_method(Pointer pointer) {
  detail::RpcMethodProbe probe;
  typename RpcMethodOf<Pointer>::Service::Stub stub(&probe);
  (stub.*pointer)(nullptr, nullptr, nullptr, nullptr);
  return *probe.method;
}

}  // namespace peal
