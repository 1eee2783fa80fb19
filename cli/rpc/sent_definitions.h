// SPDX-License-Identifier: BSD-3-Clause
// SentDefinitions: the definitions of a service that a server has sent as text, compiled, so that its messages can be
// made from JSON and written as JSON.
//
// The text may come from anybody. The error of a text that does not compile is a sentence. protobuf works by recursion,
// so text that nests deeply, long chains of imports and very many messages are refused. Types of protobuf that have a
// JSON of their own, such as google.protobuf.Struct, are those of this program: protobuf trusts their fields.
#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <peal/protobuf/rpc/rpcservice.pb.h>

namespace peal::cli {

class SentDefinitions {
 public:
  // A file that is imported and was not sent is taken from this program, if protobuf has it. The error is a sentence.
  static std::expected<std::unique_ptr<SentDefinitions>, std::string> compile(
      const muduo::net::GetServiceResponse& sent);
  SentDefinitions(const SentDefinitions&) = delete;
  SentDefinitions& operator=(const SentDefinitions&) = delete;

  // Null: it is not there. Lives as long as this.
  const google::protobuf::ServiceDescriptor* service(const std::string& name) const;
  // Empty. It must not outlive this.
  std::unique_ptr<google::protobuf::Message> make(const google::protobuf::Descriptor& type);

 private:
  SentDefinitions();
  // Each answers what is wrong, or nothing.
  std::string parse(const std::string& name, const std::string& text);
  std::string build(const std::string& name, const std::string& importer, size_t imports = 0);

  std::map<std::string, google::protobuf::FileDescriptorProto> files_;  // that are not built yet
  size_t sent_messages_ = 0;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
};

// Fills the message, which is empty. Fields have the names of the definition, or those in lowerCamelCase. Answers what
// is wrong, with the field, or nothing.
std::string read_json(const std::string& json, google::protobuf::Message& message);
// Indented, with a newline at its end. Fields have the names of the definition; those that are not set are left out.
std::expected<std::string, std::string> json_of(const google::protobuf::Message& message);

}  // namespace peal::cli
