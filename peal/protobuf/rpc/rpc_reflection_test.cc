// SPDX-License-Identifier: BSD-3-Clause
// RpcServer::add_reflection(): these tests check the answers of the service muduo.net.RpcService, and that the
// definitions which it sends can be compiled again.
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <peal/protobuf/rpc/rpcservice.pb.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/shelf.pb.h>
#include <tests/support/engines/task_rig.h>

namespace peal {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using muduo::net::GetServiceRequest;
using muduo::net::GetServiceResponse;
using muduo::net::ListRpcRequest;
using muduo::net::ListRpcResponse;
using test::shelf::Book;
using test::shelf::FindRequest;
using test::shelf::PutReply;
using test::shelf::ShelfService;
using testing::ElementsAre;
using testing::IsEmpty;
// The generated class of the service, as muduo's programs have it.
using MetaService = muduo::net::RpcService;

constexpr const char* kListLine = "muduo.net.RpcService.listRpc (muduo.net.ListRpcRequest) : muduo.net.ListRpcResponse";
constexpr const char* kGetLine =
    "muduo.net.RpcService.getService (muduo.net.GetServiceRequest) : muduo.net.GetServiceResponse";

class EchoOfBothWays final : public echo::EchoService {};
class MetaOfMuduo final : public MetaService {};

void find_nothing(RpcCall&, const FindRequest&, Book&) {}

ListRpcRequest list_request(bool with_methods) {
  ListRpcRequest request;
  request.set_list_method(with_methods);
  return request;
}

GetServiceRequest get_request(const std::string& service) {
  GetServiceRequest request;
  request.set_service_name(service);
  return request;
}

class ParseErrors final : public google::protobuf::io::ErrorCollector, public DescriptorPool::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber, const std::string& text) override {
    ADD_FAILURE() << "line " << line << ": " << text;
  }
  void AddError(const std::string& file, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& text) override {
    ADD_FAILURE() << file << ": " << element << ": " << text;
  }
};

class TextController final : public google::protobuf::RpcController {
 public:
  void Reset() override {}
  bool Failed() const override { return !text.empty(); }
  std::string ErrorText() const override { return text; }
  void StartCancel() override {}
  void SetFailed(const std::string& why) override { text = why; }
  bool IsCanceled() const override { return false; }
  void NotifyOnCancel(google::protobuf::Closure*) override {}

  std::string text;
};

// Compiles the .proto files that a server has sent. The server sends the imported files after the files that import
// them.
class CompiledAgain {
 public:
  explicit CompiledAgain(const GetServiceResponse& sent) {
    for (int i = sent.proto_file_size() - 1; i >= 0; --i) {
      const std::string& text = sent.proto_file(i);
      google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
      google::protobuf::io::Tokenizer words(&stream, &errors_);
      google::protobuf::compiler::Parser parser;
      parser.RecordErrorsTo(&errors_);
      FileDescriptorProto& file = files_[sent.proto_file_name(i)];
      EXPECT_TRUE(parser.Parse(&words, &file)) << text;
      file.set_name(sent.proto_file_name(i));
    }
    for (const auto& [name, file] : files_) build(name);
  }
  const DescriptorPool& pool() const { return pool_; }

 private:
  void build(const std::string& name) {
    if (pool_.FindFileByName(name) != nullptr) return;
    ASSERT_TRUE(files_.contains(name)) << name << " is imported and was not sent";
    for (const std::string& imported : files_.at(name).dependency()) build(imported);
    EXPECT_NE(pool_.BuildFileCollectingErrors(files_.at(name), &errors_), nullptr) << name;
  }

  ParseErrors errors_;
  std::map<std::string, FileDescriptorProto> files_;
  DescriptorPool pool_;
};

class RpcReflectionTest : public test::TaskTest {
 protected:
  // Starts a server with the methods that `prepare` adds, and runs `body` with a channel to it.
  void reflect(const std::function<void(RpcServer&)>& prepare, const std::function<Task<>(RpcChannel&)>& body) {
    run([&]() -> Task<> {
      RpcServer server(loop());
      prepare(server);
      const Result<SocketAddress> address = server.listen("127.0.0.1:0");
      EXPECT_TRUE(address);
      RpcChannel channel(loop());
      EXPECT_TRUE(channel.connect(*address));
      co_await body(channel);
      channel.stop();
      co_await settle();
    });
  }
  static void serve_find(RpcServer& server) {
    server.handle(&ShelfService::Find, find_nothing);
    server.add_reflection();
  }
};

TEST_P(RpcReflectionTest, lists_what_is_handled_and_what_is_added) {
  EchoOfBothWays service;
  ListRpcResponse bare;
  ListRpcResponse full;
  reflect(
      [&](RpcServer& server) {
        server.handle(&ShelfService::Find, find_nothing);
        server.add_reflection();  // methods that are added after it are listed, too
        server.handle(&ShelfService::Put, [](RpcCall&, const Book&, PutReply&) {});
        server.add(service);
      },
      [&](RpcChannel& channel) -> Task<> {
        bare = (co_await channel.call(&MetaService::listRpc, ListRpcRequest())).value();
        full = (co_await channel.call(&MetaService::listRpc, list_request(true))).value();
      });
  for (const ListRpcResponse& list : {bare, full}) {
    EXPECT_EQ(list.error(), muduo::net::NO_ERROR);
    EXPECT_THAT(list.service_name(),
                ElementsAre("echo.EchoService", "muduo.net.RpcService", "peal.test.shelf.ShelfService"));
  }
  EXPECT_THAT(bare.method_name(), IsEmpty());
  EXPECT_THAT(full.method_name(),
              ElementsAre("echo.EchoService.Echo (echo.EchoRequest) : echo.EchoResponse",
                          "echo.EchoService.Reverse (echo.EchoRequest) : echo.EchoResponse", kListLine, kGetLine,
                          "peal.test.shelf.ShelfService.Put (peal.test.shelf.Book) : peal.test.shelf.PutReply",
                          "peal.test.shelf.ShelfService.Find (peal.test.shelf.FindRequest) : peal.test.shelf.Book"));
}

TEST_P(RpcReflectionTest, lists_one_service_and_only_its_methods_that_are_served) {
  ListRpcResponse one;
  ListRpcResponse names_only;
  reflect(serve_find, [&](RpcChannel& channel) -> Task<> {
    ListRpcRequest request = list_request(true);
    request.set_service_name("peal.test.shelf.ShelfService");
    one = (co_await channel.call(&MetaService::listRpc, request)).value();
    request.clear_list_method();
    names_only = (co_await channel.call(&MetaService::listRpc, request)).value();
  });
  EXPECT_THAT(one.service_name(), ElementsAre("peal.test.shelf.ShelfService"));
  EXPECT_THAT(one.method_name(),
              ElementsAre("peal.test.shelf.ShelfService.Find (peal.test.shelf.FindRequest) : peal.test.shelf.Book"));
  EXPECT_THAT(names_only.service_name(), ElementsAre("peal.test.shelf.ShelfService"));
  EXPECT_THAT(names_only.method_name(), IsEmpty());
}

TEST_P(RpcReflectionTest, a_service_that_is_not_served_is_an_error_in_the_answer) {
  std::vector<ListRpcResponse> lists;
  std::vector<GetServiceResponse> definitions;
  reflect(serve_find, [&](RpcChannel& channel) -> Task<> {
    // The second service is defined in the same file as the served one, but is not served itself.
    for (const char* service : {"", "peal.test.shelf.EmptyShelfService", "peal.test.shelf.ShelfService.Find"}) {
      ListRpcRequest request = list_request(true);
      request.set_service_name(service);
      lists.push_back((co_await channel.call(&MetaService::listRpc, request)).value());
      definitions.push_back((co_await channel.call(&MetaService::getService, get_request(service))).value());
    }
  });
  ASSERT_EQ(lists.size(), 3u);
  for (const ListRpcResponse& list : lists) {
    EXPECT_EQ(list.error(), muduo::net::NO_SERVICE);
    EXPECT_THAT(list.service_name(), IsEmpty());
    EXPECT_THAT(list.method_name(), IsEmpty());
  }
  for (const GetServiceResponse& definition : definitions) {
    EXPECT_EQ(definition.error(), muduo::net::NO_SERVICE);
    EXPECT_THAT(definition.proto_file(), IsEmpty());
    EXPECT_THAT(definition.proto_file_name(), IsEmpty());
  }
}

TEST_P(RpcReflectionTest, definitions_come_with_the_imports_of_imports) {
  GetServiceResponse sent;
  reflect(serve_find, [&](RpcChannel& channel) -> Task<> {
    sent = (co_await channel.call(&MetaService::getService, get_request("peal.test.shelf.ShelfService"))).value();
  });
  EXPECT_EQ(sent.error(), muduo::net::NO_ERROR);
  EXPECT_THAT(sent.proto_file_name(),
              ElementsAre("tests/protobuf/shelf.proto", "tests/protobuf/book.proto", "google/protobuf/timestamp.proto",
                          "tests/protobuf/cover.proto", "google/protobuf/descriptor.proto"));
  ASSERT_EQ(sent.proto_file_size(), 5);
  EXPECT_EQ(sent.proto_file(0), ShelfService::descriptor()->file()->DebugString());
  const CompiledAgain compiled(sent);
  for (const std::string& name : sent.proto_file_name()) {
    const FileDescriptor* const again = compiled.pool().FindFileByName(name);
    ASSERT_NE(again, nullptr) << name;
    EXPECT_EQ(again->DebugString(), DescriptorPool::generated_pool()->FindFileByName(name)->DebugString());
  }
  const google::protobuf::Descriptor* const book = compiled.pool().FindMessageTypeByName("peal.test.shelf.Book");
  ASSERT_NE(book, nullptr);
  EXPECT_EQ(book->FindFieldByName("title")->json_name(), "name");
  EXPECT_TRUE(book->FindFieldByName("copies")->is_map());
  EXPECT_EQ(book->FindFieldByName("cents")->containing_oneof()->name(), "price");
}

// The library has the definition as a text of its own. It must equal rpcservice.proto, from which protoc generates the
// code of `peal-rpc` and of muduo's clients.
TEST_P(RpcReflectionTest, its_own_definition_is_that_of_rpcservice_proto) {
  GetServiceResponse sent;
  reflect([](RpcServer& server) { server.add_reflection(); },
          [&](RpcChannel& channel) -> Task<> {
            sent = (co_await channel.call(&MetaService::getService, get_request("muduo.net.RpcService"))).value();
          });
  EXPECT_THAT(sent.proto_file_name(), ElementsAre("rpcservice.proto"));
  EXPECT_THAT(sent.proto_file(), ElementsAre(MetaService::descriptor()->file()->DebugString()));
}

TEST_P(RpcReflectionTest, a_request_without_its_required_field_is_refused) {
  TextController controller;
  reflect(serve_find, [&](RpcChannel& channel) -> Task<> {
    const ListRpcRequest without;
    GetServiceResponse response;
    bool done = false;
    channel.CallMethod(MetaService::descriptor()->FindMethodByName("getService"), &controller, &without, &response,
                       google::protobuf::NewCallback(+[](bool* it) { *it = true; }, &done));
    co_await until([&] { return done; });
  });
  EXPECT_EQ(controller.text, make_error_code(RpcTrouble::kBadRequest).message());
}

TEST_P(RpcReflectionTest, it_is_off_unless_it_is_asked_for) {
  Result<ListRpcResponse> answer;
  reflect(
      [](RpcServer& server) { server.handle(&ShelfService::Find, find_nothing); },
      [&](RpcChannel& channel) -> Task<> { answer = co_await channel.call(&MetaService::listRpc, ListRpcRequest()); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), RpcTrouble::kNoService);
}

TEST_P(RpcReflectionTest, it_is_added_once) {
  RpcServer server(loop());
  server.add_reflection();
  EXPECT_THROW(server.add_reflection(), std::invalid_argument);
  MetaOfMuduo another;
  EXPECT_THROW(server.add(another), std::invalid_argument);
}

PEAL_TEST_ON_EVERY_PORT(RpcReflectionTest);

}  // namespace
}  // namespace peal
