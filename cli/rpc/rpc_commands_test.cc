// SPDX-License-Identifier: BSD-3-Clause
// Tests the output, the messages and the exit codes of `peal-rpc list` and `peal-rpc call`. The server runs in the
// process of the test.
#include <cli/rpc/rpc_commands.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/scripted_server.h>
#include <peal/coro/sleep.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <peal/protobuf/rpc/rpcservice.pb.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/shelf.pb.h>
#include <tests/support/load_call.h>
#include <tests/support/loop_thread.h>

namespace peal::cli {
namespace {

using echo::EchoService;
using test::shelf::Book;
using test::shelf::FindRequest;
using test::shelf::PutReply;
using test::shelf::ShelfService;
using testing::HasSubstr;
using testing::Not;

Answer rpc_list(std::vector<std::string> words) { return call_command("list", add_rpc_list, std::move(words)); }
Answer rpc_call(std::vector<std::string> words) { return call_command("call", add_rpc_call, std::move(words)); }

void serve_shelf(RpcServer& server) {
  server.handle(&EchoService::Echo,
                [](RpcCall& call, const echo::EchoRequest& request, echo::EchoResponse& response) -> Task<> {
                  if (request.payload() == "never") co_await sleep(std::chrono::hours(1));
                  if (request.payload() == "busy") call.fail(RpcTrouble::kOverloaded);
                  response.set_payload(request.payload());
                });
  server.handle(&ShelfService::Find, [](RpcCall&, const FindRequest& request, Book& book) {
    book.set_title(request.title());
    book.mutable_printed()->set_seconds(86'400);
    book.mutable_cover()->set_binding(test::shelf::SOFT);
    (*book.mutable_copies())["here"] = request.shelf();
    book.set_cents(1'250);
  });
  server.handle(&ShelfService::Put, [](RpcCall&, const Book& book, PutReply& reply) { reply.set_books(book.pages()); });
}

// ShelfServer runs an RPC server on a thread of its own. Its destructor ends the server.
class ShelfServer {
 public:
  explicit ShelfServer(bool reflects = true) : thread_(LoopOptions{}), server_(thread_.loop()) {
    serve_shelf(server_);
    if (reflects) server_.add_reflection();
    address_ = server_.listen("127.0.0.1:0").value().to_string();
  }
  const std::string& address() const { return address_; }

 private:
  test::LoopThread thread_;
  RpcServer server_;
  std::string address_;
};

TEST(RpcCommands, list_shows_services_and_their_methods) {
  const ShelfServer server;
  const Answer answer = rpc_list({server.address()});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_EQ(answer.out,
            "echo.EchoService\n"
            "  Echo (echo.EchoRequest) : echo.EchoResponse\n"
            "muduo.net.RpcService\n"
            "  listRpc (muduo.net.ListRpcRequest) : muduo.net.ListRpcResponse\n"
            "  getService (muduo.net.GetServiceRequest) : muduo.net.GetServiceResponse\n"
            "peal.test.shelf.ShelfService\n"
            "  Put (peal.test.shelf.Book) : peal.test.shelf.PutReply\n"
            "  Find (peal.test.shelf.FindRequest) : peal.test.shelf.Book\n");
}

// LyingServer serves muduo.net.RpcService with the given responses, which may be wrong.
class LyingServer {
 public:
  LyingServer(const muduo::net::ListRpcResponse& list, const muduo::net::GetServiceResponse& definitions)
      : thread_(LoopOptions{}), server_(thread_.loop()) {
    server_.handle(&muduo::net::RpcService::listRpc,
                   [list](RpcCall&, const muduo::net::ListRpcRequest&, muduo::net::ListRpcResponse& response) {
                     response = list;
                   });
    server_.handle(&muduo::net::RpcService::getService,
                   [definitions](RpcCall&, const muduo::net::GetServiceRequest&,
                                 muduo::net::GetServiceResponse& response) { response = definitions; });
    address_ = server_.listen("127.0.0.1:0").value().to_string();
  }
  const std::string& address() const { return address_; }

 private:
  test::LoopThread thread_;
  RpcServer server_;
  std::string address_;
};

TEST(RpcCommands, methods_without_a_service_are_left_out_and_those_of_a_service_are_listed_once) {
  muduo::net::ListRpcResponse list;
  list.set_error(muduo::net::NO_ERROR);
  for (const char* service : {"a", "", "b.S", "b.S"}) list.add_service_name(service);
  for (const char* method : {"a", "", "a (b.Q) : b.R", ".x", "b.S.M (b.Q) : b.R", "c.S.M"})
    list.add_method_name(method);
  const LyingServer server(list, {});
  const Answer answer = rpc_list({server.address()});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_EQ(answer.out, "a\n\n  x\nb.S\n  M (b.Q) : b.R\nb.S\n");
}

TEST(RpcCommands, an_exception_of_protobuf_about_definitions_is_a_failure) {
  muduo::net::GetServiceResponse definitions;
  definitions.set_error(muduo::net::NO_ERROR);
  definitions.add_proto_file_name("weak.proto");
  definitions.add_proto_file(
      "syntax = 'proto2'; message Q { optional int32 x = 1 [weak = true]; } service S { rpc M(Q) returns (Q); }");
  const LyingServer server({}, definitions);
  const Answer answer = rpc_call({server.address(), "S.M", R"({"x": 1})"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("peal: the data from " + server.address() + " cannot be used: CHECK failed"));
}

TEST(RpcCommands, list_shows_the_definitions_of_a_service_with_its_imports) {
  const ShelfServer server;
  const Answer answer = rpc_list({server.address(), "peal.test.shelf.ShelfService"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, testing::StartsWith("// tests/protobuf/shelf.proto\n"));
  EXPECT_THAT(answer.out, HasSubstr("  rpc Find(.peal.test.shelf.FindRequest) returns (.peal.test.shelf.Book)"));
  EXPECT_THAT(answer.out, HasSubstr("\n// tests/protobuf/cover.proto\n"));
  EXPECT_THAT(answer.out, HasSubstr("// google/protobuf/descriptor.proto, a file of protobuf\n"));
  EXPECT_THAT(answer.out, Not(HasSubstr("message FieldDescriptorProto")))
      << "every program with protobuf has that file";
}

TEST(RpcCommands, a_call_takes_and_prints_json) {
  const ShelfServer server;
  const Answer echoed = rpc_call({server.address(), "echo.EchoService.Echo", R"({"payload": "h\u00e4llo"})"});
  EXPECT_EQ(echoed.exit_code, kDone) << echoed.error;
  EXPECT_EQ(nlohmann::json::parse(echoed.out), nlohmann::json({{"payload", "h\u00e4llo"}}));
  const Answer found = rpc_call({server.address(), "peal.test.shelf.ShelfService.Find", R"({"title": "Ulysses"})"});
  EXPECT_EQ(found.exit_code, kDone) << found.error;
  EXPECT_EQ(nlohmann::json::parse(found.out), nlohmann::json::parse(R"({"title": "Ulysses", "cents": "1250",
      "cover": {"binding": "SOFT"}, "printed": "1970-01-02T00:00:00Z", "copies": {"here": 7}})"));
  const Answer put = rpc_call({server.address(), "peal.test.shelf.ShelfService.Put",
                               R"({"pages": 732, "printed": "2022-02-02T00:00:00Z", "copies": {"there": 3}})"});
  EXPECT_EQ(nlohmann::json::parse(put.out), nlohmann::json({{"books", "732"}})) << put.error;
}

TEST(RpcCommands, a_request_that_is_left_out_is_an_empty_one) {
  const ShelfServer server;
  const Answer put = rpc_call({server.address(), "peal.test.shelf.ShelfService.Put"});
  EXPECT_EQ(nlohmann::json::parse(put.out), nlohmann::json({{"books", "0"}})) << put.error;
  expect_refused(rpc_call({server.address(), "echo.EchoService.Echo"}), kFailed,
                 "the JSON is no valid echo.EchoRequest: missing field payload");
}

TEST(RpcCommands, json_that_does_not_fit_is_refused_with_its_field) {
  const ShelfServer server;
  const auto put = [&](const char* json) {
    return rpc_call({server.address(), "peal.test.shelf.ShelfService.Put", json});
  };
  for (const auto& [json, word] : {std::pair{R"({"pages": "many"})", "pages"},
                                   {R"({"cover": {"bindin": 1}})", "bindin"},
                                   {R"({"cover": {"binding": "GLUED"}})", "GLUED"},
                                   {"{", "no valid peal.test.shelf.Book"}}) {
    expect_refused(put(json), kFailed, "the JSON is no valid peal.test.shelf.Book");
    EXPECT_THAT(put(json).error, HasSubstr(word));
  }
}

TEST(RpcCommands, a_name_that_is_not_served_is_answered_with_similar_names) {
  const ShelfServer server;
  expect_refused(rpc_call({server.address(), "echo.EchoService.Ehco"}), kFailed,
                 "serves no method echo.EchoService.Ehco (did you mean echo.EchoService.Echo?)");
  expect_refused(rpc_call({server.address(), "EchoService.Echo"}), kFailed, "(did you mean echo.EchoService.Echo?)");
  expect_refused(rpc_list({server.address(), "echo.EchoServise"}), kFailed,
                 "serves no service echo.EchoServise (did you mean echo.EchoService?)");
  expect_refused(rpc_call({server.address(), "sudoku.Sudoku.Solve"}), kFailed,
                 "serves no method sudoku.Sudoku.Solve\n");
}

TEST(RpcCommands, a_method_that_is_defined_but_not_served_is_an_error_of_the_server) {
  const ShelfServer server;
  expect_refused(rpc_call({server.address(), "echo.EchoService.Reverse", R"({"payload": "x"})"}), kFailed,
                 "echo.EchoService.Reverse failed: " + make_error_code(RpcTrouble::kNoMethod).message());
}

TEST(RpcCommands, an_error_of_the_server_is_a_failure) {
  const ShelfServer server;
  expect_refused(rpc_call({server.address(), "echo.EchoService.Echo", R"({"payload": "busy"})"}), kFailed,
                 "echo.EchoService.Echo failed: " + make_error_code(RpcTrouble::kOverloaded).message());
}

TEST(RpcCommands, an_answer_that_does_not_come_is_a_failure_after_the_timeout) {
  const ShelfServer server;
  expect_refused(rpc_call({server.address(), "echo.EchoService.Echo", R"({"payload": "never"})", "--timeout", "300ms"}),
                 kFailed, "did not answer within 300 ms");
}

TEST(RpcCommands, errors_distinguish_a_server_without_reflection_from_a_missing_server) {
  const ShelfServer server(false);
  expect_refused(rpc_list({server.address()}), kFailed, "does not tell what it serves: it has no muduo.net.RpcService");
  expect_refused(rpc_call({server.address(), "echo.EchoService.Echo"}), kFailed, "does not tell what it serves");
  const std::string gone = [] { return load::ScriptedServer().address().to_string(); }();
  expect_refused(rpc_list({gone}), kFailed, "cannot connect to " + gone + ": Connection refused");
  expect_refused(rpc_call({gone, "a.B.C"}), kFailed, "cannot connect to " + gone + ": Connection refused");
  const load::ScriptedServer silent(load::Manner::kSilent);
  expect_refused(rpc_list({silent.address().to_string(), "--timeout", "50ms"}), kFailed,
                 "did not answer within 50.0 ms");
}

TEST(RpcCommands, wrong_command_lines) {
  expect_refused(rpc_list({"nowhere"}), kCalledWrongly, "nowhere");
  expect_refused(rpc_list({"127.0.0.1:1", "--timeout", "soon"}), kCalledWrongly, "--timeout takes a time such as 10s");
  expect_refused(rpc_list({"127.0.0.1:1", ""}), kCalledWrongly, "may not be empty");
  expect_refused(rpc_call({"127.0.0.1:1"}), kCalledWrongly, "method is required");
  expect_refused(rpc_call({"127.0.0.1:1", "Echo"}), kCalledWrongly, "'Echo' is not of the form SERVICE.METHOD");
}

}  // namespace
}  // namespace peal::cli
