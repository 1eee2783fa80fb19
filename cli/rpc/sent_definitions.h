// SPDX-License-Identifier: BSD-3-Clause
// SentDefinitions: the definitions of a service, compiled from the text that a server has sent. With them, messages of
// the service are made from JSON and written as JSON.
//
// The text is not trusted. If it does not compile, the error is a sentence. Text that nests deeply, long chains of
// imports and very many messages are refused, because protobuf works by recursion. Some of protobuf's own types have a
// special form in JSON, such as google.protobuf.Struct. The server cannot define these types, because protobuf's JSON
// code does not check their fields.
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
  // Parses all files that a server has sent. Then compiles the first file, which defines the service, and all files
  // that this file imports directly or through other files. The server need not send imported files that are built into
  // this program, such as google/protobuf/any.proto. The error is a sentence.
  static std::expected<std::unique_ptr<SentDefinitions>, std::string> compile(
      const muduo::net::GetServiceResponse& sent);
  SentDefinitions(const SentDefinitions&) = delete;
  SentDefinitions& operator=(const SentDefinitions&) = delete;

  // Returns the service `name`, or null if no file defines it. The pointer is valid until this object is destroyed.
  const google::protobuf::ServiceDescriptor* service(const std::string& name) const;
  // Makes an empty message of the type. Destroy the message before this SentDefinitions, because the message uses data
  // about its type that this object owns.
  std::unique_ptr<google::protobuf::Message> make(const google::protobuf::Descriptor& type);

 private:
  SentDefinitions();
  // Parses `text`, the content of the file `name`. Returns a sentence that says what is wrong, or an empty text.
  std::string parse(const std::string& name, const std::string& text);
  // Builds the files that the file `name` imports, and then the file itself. A file that the server did not send is
  // taken from the files that are built into this program. For error messages, `importer` says what needs the file.
  // `imports` counts the imports on the way from the first file to this one. build() calls itself for each import, so a
  // long chain of imports would use up the stack. A chain of more than kMostImports imports is therefore an error.
  //
  // Returns a sentence that says what is wrong, or an empty text.
  std::string build(const std::string& name, const std::string& importer, size_t imports = 0);

  std::map<std::string, google::protobuf::FileDescriptorProto> files_;  // parsed, but not built yet
  size_t sent_messages_ = 0;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
};

// Reads JSON into `message`, which must be empty. The JSON may write the name of a field as the definition does, or in
// lowerCamelCase. Returns a sentence that says which field is wrong and why, or an empty text if all fields are right.
std::string read_json(const std::string& json, google::protobuf::Message& message);
// Returns the message as indented JSON that ends with a newline. The JSON names fields as the definition does. Fields
// that are not set are left out. The error says why the message cannot be written as JSON. For example, its messages of
// the type google.protobuf.Any may be nested too deeply.
std::expected<std::string, std::string> json_of(const google::protobuf::Message& message);

}  // namespace peal::cli
