// SPDX-License-Identifier: BSD-3-Clause
// rpc_method() returns the descriptor of the method that a pointer like `&EchoService::Echo` points to. RpcMethodOf has
// the types of that method's messages.
//
// protobuf generates a virtual function for each method of a service, if the file has `option cc_generic_services =
// true;`. It also generates the class EchoService::Stub, whose functions pass the descriptor of their method to a
// channel. rpc_method() uses such a stub to find the descriptor.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

namespace peal {

// For the type of a pointer to a generated method, RpcMethodOf names the service and the types of request and response.
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

// Satisfied by the type of a pointer like `&EchoService::Echo`, which points to a function that protobuf has generated.
template <class T>
concept RpcMethodPointer = RpcMethodOf<T>::kIsMethod;

namespace detail {

// A channel that makes no call and only remembers which method a stub calls. The messages that it gets are null.
class RpcMethodProbe final : public google::protobuf::RpcChannel {
 public:
  void CallMethod(const google::protobuf::MethodDescriptor* called, google::protobuf::RpcController*,
                  const google::protobuf::Message*, google::protobuf::Message*, google::protobuf::Closure*) override {
    method = called;
  }

  const google::protobuf::MethodDescriptor* method = nullptr;
};

}  // namespace detail

// Returns the descriptor of the method. The descriptor lives as long as the program. May be called on any thread.
template <RpcMethodPointer Pointer>
const google::protobuf::MethodDescriptor& rpc_method(Pointer pointer) {
  detail::RpcMethodProbe probe;
  typename RpcMethodOf<Pointer>::Service::Stub stub(&probe);
  (stub.*pointer)(nullptr, nullptr, nullptr, nullptr);
  return *probe.method;
}

}  // namespace peal
