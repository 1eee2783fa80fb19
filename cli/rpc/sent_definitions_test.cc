// SPDX-License-Identifier: BSD-3-Clause
// Tests that SentDefinitions refuses malicious definitions with an error sentence.
#include <cli/rpc/sent_definitions.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <gtest/gtest.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

using Files = std::vector<std::pair<std::string, std::string>>;  // the name and the text of each file

// Returns why the files are refused, or an empty text.
std::string refusal(const Files& files) {
  muduo::net::GetServiceResponse sent;
  for (const auto& [name, text] : files) {
    sent.add_proto_file_name(name);
    sent.add_proto_file("syntax = 'proto2'; " + text);
  }
  const auto compiled = SentDefinitions::compile(sent);
  return compiled ? std::string() : compiled.error();
}

std::string refusal_of_text(std::string text) { return refusal({{"a.proto", std::move(text)}}); }

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Returns files in a chain: each of `count` files imports the next one. `how` is "import" or "import public".
Files chain(size_t count, std::string_view how) {
  Files files;
  for (size_t i = 0; i < count; ++i) files.emplace_back(fmt::format("{}", i), fmt::format("{} '{}';", how, i + 1));
  files.emplace_back(fmt::format("{}", count), "message Last {}");
  return files;
}

TEST(SentDefinitions, that_nest_deeply_are_refused_before_they_are_parsed) {
  EXPECT_EQ(refusal_of_text(repeated("message A {", 30) + repeated("}", 30)), "");
  for (const std::string_view deep : {"message A {", "message A { ]", "option (x) = { a: [", "option (x) = { a: <"}) {
    EXPECT_EQ(refusal_of_text(repeated(deep, 200'000)), "a.proto nests more than 100 times") << deep;
  }
  EXPECT_EQ(refusal_of_text("// " + repeated("{", 1000) + "\nmessage A { optional string s = 1 [default = '" +
                            repeated("{", 1000) + "']; }"),
            "")
      << "brackets in comments and texts do not count";
}

TEST(SentDefinitions, long_chains_of_imports_are_refused) {
  for (const char* how : {"import", "import public"}) {
    EXPECT_EQ(refusal(chain(100, how)), "");
    EXPECT_EQ(refusal(chain(5'000, how)), "its files import each other more than 100 times");
  }
}

TEST(SentDefinitions, very_many_messages_are_refused) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += fmt::format("message M{} {{ optional M{} next = 1; }} ", i, i + 1);
  EXPECT_EQ(refusal_of_text(text), "it sent more than 5000 messages");
  EXPECT_EQ(refusal_of_text(repeated("message A { message B {} } ", 2'501)), "it sent more than 5000 messages");
}

// protobuf's JSON code expects certain fields in these types, and does not check that they exist. Therefore definitions
// of these types from a server are ignored or refused.
TEST(SentDefinitions, no_type_of_protobuf_that_has_its_own_json_is_defined_anew) {
  EXPECT_EQ(refusal({{"google/protobuf/struct.proto", "package google.protobuf; message Struct { }"}}), "");
  EXPECT_THAT(refusal_of_text("package google.protobuf; message Struct { optional string fields = 1; }"),
              HasSubstr("is already defined in file \"google/protobuf/struct.proto\""));
  EXPECT_THAT(refusal_of_text("package google; message protobuf { message Any {} }"), HasSubstr("already defined"));
}

TEST(SentDefinitions, an_answer_of_anys_in_anys_is_not_written_as_json) {
  muduo::net::GetServiceResponse sent;
  sent.add_proto_file_name("a.proto");
  sent.add_proto_file(
      "syntax = 'proto3'; import 'google/protobuf/any.proto'; message Q { repeated google.protobuf.Any any = 1; } "
      "service S { rpc M(Q) returns (Q); }");
  const auto compiled = SentDefinitions::compile(sent);
  ASSERT_TRUE(compiled) << compiled.error();
  google::protobuf::Any any;
  const auto json = [&] {
    const auto message = (*compiled)->make(*(*compiled)->service("S")->method(0)->input_type());
    const google::protobuf::FieldDescriptor* const field = message->GetDescriptor()->field(0);
    EXPECT_TRUE(message->GetReflection()->AddMessage(message.get(), field)->ParseFromString(any.SerializeAsString()));
    return json_of(*message);
  };
  const auto wrap = [&any](int times) {
    for (int i = 0; i < times; ++i) {
      const google::protobuf::Any inner = any;
      any.PackFrom(inner);
    }
  };
  wrap(29);
  EXPECT_TRUE(json()) << json().error();
  wrap(3'000);
  EXPECT_EQ(json(), std::unexpected(std::string("it nests google.protobuf.Any more than 30 times")));
}

}  // namespace
}  // namespace peal::cli
