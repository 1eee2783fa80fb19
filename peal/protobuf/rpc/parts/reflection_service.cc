// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/reflection_service.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>

#include <peal/base/assert.h>
#include <peal/protobuf/rpc/parts/rpc_core.h>

namespace peal::detail {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

// The content of rpcservice.proto as the text of a FileDescriptorProto. Parsing a .proto file at run time needs a
// parser that not every libprotobuf-dev package has.
constexpr const char* kDefinition = R"(
name: "rpcservice.proto" package: "muduo.net"
message_type { name: "ListRpcRequest"
  field { name: "service_name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "list_method" number: 2 label: LABEL_OPTIONAL type: TYPE_BOOL } }
message_type { name: "ListRpcResponse"
  field { name: "error" number: 1 label: LABEL_REQUIRED type: TYPE_ENUM type_name: ".muduo.net.ErrorCode" }
  field { name: "service_name" number: 2 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "method_name" number: 3 label: LABEL_REPEATED type: TYPE_STRING } }
message_type { name: "GetServiceRequest"
  field { name: "service_name" number: 1 label: LABEL_REQUIRED type: TYPE_STRING } }
message_type { name: "GetServiceResponse"
  field { name: "error" number: 1 label: LABEL_REQUIRED type: TYPE_ENUM type_name: ".muduo.net.ErrorCode" }
  field { name: "proto_file" number: 2 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "proto_file_name" number: 3 label: LABEL_REPEATED type: TYPE_STRING } }
enum_type { name: "ErrorCode"
  value { name: "NO_ERROR" number: 0 } value { name: "WRONG_PROTO" number: 1 } value { name: "NO_SERVICE" number: 2 }
  value { name: "NO_METHOD" number: 3 } value { name: "INVALID_REQUEST" number: 4 }
  value { name: "INVALID_RESPONSE" number: 5 } value { name: "TIMEOUT" number: 6 } }
service { name: "RpcService"
  method { name: "listRpc"
    input_type: ".muduo.net.ListRpcRequest" output_type: ".muduo.net.ListRpcResponse" }
  method { name: "getService"
    input_type: ".muduo.net.GetServiceRequest" output_type: ".muduo.net.GetServiceResponse" } }
options { cc_generic_services: true }
)";

// The values NO_ERROR and NO_SERVICE of muduo.net.ErrorCode.
constexpr int kNoError = 0;
constexpr int kNoService = 2;

const FieldDescriptor* field(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string text_in(const Message& message, const char* name) {
  return message.GetReflection()->GetString(message, field(message, name));
}

void add_text(Message& message, const char* name, std::string text) {
  message.GetReflection()->AddString(&message, field(message, name), std::move(text));
}

void set_error(Message& response, int error) {
  response.GetReflection()->SetEnumValue(&response, field(response, "error"), error);
}

// Returns the services that have methods on this server, each by its full name. The methods of a service have the order
// of their .proto file.
std::map<std::string, std::vector<const MethodDescriptor*>> services_of(const RpcCore& core) {
  std::map<std::string, std::vector<const MethodDescriptor*>> services;
  for (const RpcMethod& method : core.methods())
    services[method.descriptor.service()->full_name()].push_back(&method.descriptor);
  for (auto& [name, methods] : services) std::ranges::sort(methods, {}, &MethodDescriptor::index);
  return services;
}

// Returns the line for a method in the answer of listRpc. The line has the format of muduo's server.
std::string line_of(const MethodDescriptor& method) {
  return method.full_name() + " (" + method.input_type()->full_name() + ") : " + method.output_type()->full_name();
}

// Returns the file and all files that it imports, directly or indirectly, each once.
std::vector<const FileDescriptor*> with_imports(const FileDescriptor& file) {
  std::vector<const FileDescriptor*> files{&file};
  for (size_t i = 0; i < files.size(); ++i) {
    const FileDescriptor& importer = *files[i];
    for (int k = 0; k < importer.dependency_count(); ++k) {
      const FileDescriptor* const imported = importer.dependency(k);
      if (std::ranges::find(files, imported) == files.end()) files.push_back(imported);
    }
  }
  return files;
}

}  // namespace

ReflectionService::ReflectionService(const RpcCore& core) : core_(core), messages_(&pool_) {
  google::protobuf::FileDescriptorProto file;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(kDefinition, &file);
  const FileDescriptor* const built = pool_.BuildFile(file);
  PEAL_ASSERT(built != nullptr, "the built-in definition of muduo.net.RpcService is invalid (was its text parsed: {})",
              parsed);
}

void ReflectionService::add_to(RpcCore& core) {
  const auto reflection = std::make_shared<ReflectionService>(core);
  const auto add = [&](const char* name, auto answer) {
    const MethodDescriptor& method = reflection->method(name);
    core.add(method, reflection->prototype(*method.input_type()), reflection->prototype(*method.output_type()),
             RpcMethod::Function([reflection, answer](RpcCall&, const Message& request, Message& response) {
               ((*reflection).*answer)(request, response);
             }));
  };
  add("listRpc", &ReflectionService::list);
  add("getService", &ReflectionService::get);
}

const MethodDescriptor& ReflectionService::method(const char* name) const {
  return *pool_.FindServiceByName("muduo.net.RpcService")->FindMethodByName(name);
}

const Message& ReflectionService::prototype(const google::protobuf::Descriptor& type) {
  return *messages_.GetPrototype(&type);
}

void ReflectionService::list(const Message& request, Message& response) const {
  const bool asks_for_one = request.GetReflection()->HasField(request, field(request, "service_name"));
  const bool with_methods = request.GetReflection()->GetBool(request, field(request, "list_method"));
  const std::string asked = text_in(request, "service_name");
  set_error(response, asks_for_one ? kNoService : kNoError);
  for (const auto& [name, methods] : services_of(core_)) {
    if (asks_for_one && name != asked) continue;
    set_error(response, kNoError);
    add_text(response, "service_name", name);
    if (!with_methods) continue;
    for (const MethodDescriptor* method : methods) add_text(response, "method_name", line_of(*method));
  }
}

void ReflectionService::get(const Message& request, Message& response) const {
  const std::string asked = text_in(request, "service_name");
  const auto found = std::ranges::find_if(
      core_.methods(), [&asked](const RpcMethod& method) { return method.descriptor.service()->full_name() == asked; });
  if (found == core_.methods().end()) return set_error(response, kNoService);
  set_error(response, kNoError);
  for (const FileDescriptor* file : with_imports(*found->descriptor.file())) {
    add_text(response, "proto_file", file->DebugString());
    add_text(response, "proto_file_name", file->name());
  }
}

}  // namespace peal::detail
