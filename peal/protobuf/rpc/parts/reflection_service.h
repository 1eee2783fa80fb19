// SPDX-License-Identifier: BSD-3-Clause
// ReflectionService: the service muduo.net.RpcService (rpcservice.proto), which tells clients what a server serves. Its
// descriptors are in a pool of its own and its messages are dynamic, so a program may have muduo's generated classes,
// too. The handlers of its methods own it.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

namespace peal::detail {

class RpcCore;

class ReflectionService {
 public:
  // Before the core is sealed. std::invalid_argument: there is one already.
  static void add_to(RpcCore& core);

  explicit ReflectionService(const RpcCore& core);
  ReflectionService(const ReflectionService&) = delete;
  ReflectionService& operator=(const ReflectionService&) = delete;

 private:
  const google::protobuf::MethodDescriptor& method(const char* name) const;
  const google::protobuf::Message& prototype(const google::protobuf::Descriptor& type);
  // Any thread: the methods of a core that is sealed do not change.
  void list(const google::protobuf::Message& request, google::protobuf::Message& response) const;
  void get(const google::protobuf::Message& request, google::protobuf::Message& response) const;

  const RpcCore& core_;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
};

}  // namespace peal::detail
