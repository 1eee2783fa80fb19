// SPDX-License-Identifier: BSD-3-Clause
// ReflectionService is the service muduo.net.RpcService (rpcservice.proto). It tells clients which services and methods
// a server has. Its descriptors are in a separate pool and its messages are dynamic, so a program may also contain
// muduo's generated classes. The handlers of its methods share its ownership.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

namespace peal::detail {

class RpcCore;

class ReflectionService {
 public:
  // Adds the reflection service to `core`, which must not be sealed yet. Throws std::invalid_argument if `core` has
  // that service already.
  static void add_to(RpcCore& core);

  // Builds the descriptors. Called only by add_to(). `core` is borrowed.
  explicit ReflectionService(const RpcCore& core);
  ReflectionService(const ReflectionService&) = delete;
  ReflectionService& operator=(const ReflectionService&) = delete;

 private:
  const google::protobuf::MethodDescriptor& method(const char* name) const;
  const google::protobuf::Message& prototype(const google::protobuf::Descriptor& type);
  // list() and get() are the handlers of listRpc and getService. They are called on any thread, which is safe because
  // the methods of a sealed core do not change.
  void list(const google::protobuf::Message& request, google::protobuf::Message& response) const;
  void get(const google::protobuf::Message& request, google::protobuf::Message& response) const;

  const RpcCore& core_;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
};

}  // namespace peal::detail
