// SPDX-License-Identifier: BSD-3-Clause
#include <cli/rpc/rpc_commands.h>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <cli/load/load_target.h>
#include <cli/rpc/rpc_asker.h>
#include <cli/rpc/sent_definitions.h>
#include <cli/time_option.h>
#include <cli/words/near_names.h>
#include <peal/base/printable.h>
#include <peal/base/read_whole.h>
#include <peal/coro/scope.h>

namespace peal::cli {
namespace {

constexpr size_t kMostJsonBytes = 16 * 1024 * 1024;
constexpr size_t kMostReasonBytes = 1000;  // a longer reason is cut: it may hold very long names from the server
constexpr const char* kExitCodes = "Exit codes: 0: done; 1: it failed; 2: the command line is wrong.\n";

struct RpcArguments {
  std::string target;
  std::string service;  // only for `list`; may be empty
  std::string method;   // only for `call`
  std::string json = "{}";
  std::string timeout = "10s";
};

// The text that a command prints, or the reason why the command failed.
using Output = std::expected<std::string, CommandTrouble>;
using Command = std::function<Task<Output>(RpcAsker& asker)>;

std::unexpected<CommandTrouble> failed(std::string sentence) {
  return std::unexpected(CommandTrouble(kFailed, std::move(sentence)));
}

// Runs the command, stores its result in `output`, then stops the loop. Turns an exception into an error, because
// protobuf throws a FatalException if one of its internal checks fails. Wrong data from the server can make such a
// check fail.
Task<> carry_out(Loop& loop, RpcAsker& asker, const Command& command, Output& output) {
  try {
    output = co_await command(asker);
  } catch (const std::exception& thrown) {
    output = failed(fmt::format("the data from {} cannot be used: {}", asker.target(), thrown.what()));
  }
  loop.stop();
}

int run_against_target(const RpcArguments& words, const Command& command) {
  constexpr TimeOption kTimeout{.name = "--timeout", .takes = "a time such as 10s", .least = kAnyTime};
  Duration timeout{};
  if (const std::string trouble = kTimeout.read(words.timeout, timeout); !trouble.empty()) {
    return complain(kCalledWrongly, trouble);
  }
  const std::expected<SocketAddress, CommandTrouble> address = find_target(words.target);
  if (!address) return complain(address.error());
  Output output;
  Loop loop;
  RpcAsker asker(loop, words.target, *address, timeout);
  Scope scope(loop);
  scope.spawn(carry_out(loop, asker, command, output));
  if (const Result<void> ran = loop.run(); !ran) return complain(kFailed, ran.error().message());
  if (!output) return complain(output.error());
  return say(stdout, *output) ? kDone : complain(kFailed, "the answer could not be written to stdout");
}

// Escapes all characters that a terminal would interpret, except newlines. The text comes from the server, which is not
// trusted.
std::string printable_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines += printable(text.substr(0, end));
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Returns a list of the services. The methods of a service are listed below its name. The response describes a method
// as "package.Service.Method (in) : out". The list shows "Method (in) : out" below "package.Service". A method is left
// out if the response does not contain its service.
std::string listed(const muduo::net::ListRpcResponse& response) {
  std::map<std::string_view, std::string> methods;
  for (const std::string_view method : response.method_name()) {
    const size_t dot = method.substr(0, method.find(' ')).rfind('.');
    if (dot == std::string_view::npos) continue;
    methods[method.substr(0, dot)] += fmt::format("  {}\n", printable(method.substr(dot + 1)));
  }
  std::string text;
  for (const std::string& service : response.service_name()) {
    text += printable(service) + '\n';
    text += std::exchange(methods[service], {});
  }
  return text;
}

std::string defined(const muduo::net::GetServiceResponse& response) {
  std::string text;
  for (int i = 0; i < std::min(response.proto_file_size(), response.proto_file_name_size()); ++i) {
    const std::string& name = response.proto_file_name(i);
    const bool is_protobufs = name.starts_with("google/protobuf/");
    text += fmt::format("{}// {}{}\n", i == 0 ? "" : "\n", printable(name), is_protobufs ? ", a file of protobuf" : "");
    if (!is_protobufs) text += printable_lines(response.proto_file(i));
  }
  return text;
}

// Returns the names of all methods. The response describes a method as "package.Service.Method (in) : out". The name is
// the text before the first space.
std::vector<std::string> method_names(const muduo::net::ListRpcResponse& response) {
  std::vector<std::string> names;
  for (const std::string& line : response.method_name()) names.push_back(line.substr(0, line.find(' ')));
  return names;
}

// Returns an error which says that the server does not have `name`. `name` is the name of a method if `is_method` is
// true, otherwise the name of a service. The error suggests similar names, so the function first asks the server for
// all names. If that request fails, returns the error of the request.
Task<CommandTrouble> not_there(RpcAsker& asker, std::string name, bool is_method) {
  const auto all = co_await asker.list();
  if (!all) co_return all.error();
  const std::vector<std::string> services(all->service_name().begin(), all->service_name().end());
  const std::string near = did_you_mean(is_method ? method_names(*all) : services, name);
  co_return CommandTrouble(
      kFailed, fmt::format("{} serves no {} {}{}", asker.target(), is_method ? "method" : "service", name, near));
}

Task<Output> list_services(RpcAsker& asker) {
  const auto all = co_await asker.list();
  if (!all) co_return std::unexpected(all.error());
  co_return listed(*all);
}

Task<Output> list_definitions(RpcAsker& asker, std::string service) {
  const auto sent = co_await asker.definitions(service);
  if (!sent) co_return std::unexpected(sent.error());
  if (sent->error() != muduo::net::NO_ERROR) co_return std::unexpected(co_await not_there(asker, service, false));
  co_return defined(*sent);
}

Task<Output> call_method(RpcAsker& asker, std::string name, std::string json) {
  const size_t dot = name.rfind('.');
  const std::string service = name.substr(0, dot);
  const auto sent = co_await asker.definitions(service);
  if (!sent) co_return std::unexpected(sent.error());
  if (sent->error() != muduo::net::NO_ERROR) co_return std::unexpected(co_await not_there(asker, name, true));
  const auto compiled = SentDefinitions::compile(*sent);
  if (!compiled) {
    const std::string_view why = std::string_view(compiled.error()).substr(0, kMostReasonBytes);
    co_return failed(fmt::format("the definitions of {} are of no use: {}", service, why));
  }
  const google::protobuf::ServiceDescriptor* const defines = (*compiled)->service(service);
  const google::protobuf::MethodDescriptor* const method =
      defines == nullptr ? nullptr : defines->FindMethodByName(name.substr(dot + 1));
  if (method == nullptr) co_return std::unexpected(co_await not_there(asker, name, true));
  const auto request = (*compiled)->make(*method->input_type());
  const auto response = (*compiled)->make(*method->output_type());
  if (const std::string trouble = read_json(json, *request); !trouble.empty()) {
    co_return failed(fmt::format("the JSON is no valid {}: {}", method->input_type()->full_name(), trouble));
  }
  if (const auto called = co_await asker.call(*method, *request, *response); !called) {
    co_return std::unexpected(called.error());
  }
  const auto text = json_of(*response);
  if (!text) co_return failed(fmt::format("the answer cannot be written as JSON: {}", text.error()));
  co_return *text;
}

// If `json` is "-", replaces it with the text that is read from stdin.
CommandTrouble complete_json(std::string& json) {
  if (json != "-") return {};
  Result<std::string> text = read_whole(STDIN_FILENO, kMostJsonBytes);
  if (!text) return {kFailed, fmt::format("stdin cannot be read: {}", text.error().message())};
  json = std::move(*text);
  return {};
}

void add_usual(CLI::App& command, RpcArguments& words) {
  command.add_option("target", words.target, "Address of the server: HOST:PORT, [HOST]:PORT or unix:PATH")->required();
  command.add_option("--timeout", words.timeout, "How long each answer of the server may take, such as 10s")
      ->capture_default_str();
}

}  // namespace

void add_rpc_list(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("list", "List the services and methods of a server, or print the definitions of a service");
  auto words = std::make_shared<RpcArguments>();
  add_usual(*command, *words);
  command->add_option(
      "service", words->service,
      "Service whose definitions are printed; for example package.Service (default: list all services)");
  command->footer(
      std::string(
          "The server must serve muduo.net.RpcService, as RpcServer::add_reflection() or muduo-protorpc does.\n") +
      kExitCodes +
      "Examples:\n"
      "  peal-rpc list 127.0.0.1:9981\n"
      "  peal-rpc list 127.0.0.1:9981 echo.EchoService");
  command->callback([words, &exit_code] {
    exit_code = run_against_target(*words, [words](RpcAsker& asker) {
      return words->service.empty() ? list_services(asker) : list_definitions(asker, words->service);
    });
  });
}

void add_rpc_call(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("call", "Call a method with a request in JSON, and print the response as JSON");
  auto words = std::make_shared<RpcArguments>();
  add_usual(*command, *words);
  command->add_option("method", words->method, "Method to call; for example package.Service.Method")->required();
  command->add_option("json", words->json, "Request as JSON; -: read it from stdin")->capture_default_str();
  command->footer(
      std::string(
          "The server must serve muduo.net.RpcService, as RpcServer::add_reflection() or muduo-protorpc does.\n") +
      kExitCodes +
      "Examples:\n"
      "  peal-rpc call 127.0.0.1:9981 echo.EchoService.Echo '{\"payload\": \"hello\"}'\n"
      "  peal-rpc call 127.0.0.1:9981 echo.EchoService.Echo - --timeout 500ms < request.json");
  command->callback([words, &exit_code] {
    if (words->method.find('.') == std::string::npos) {
      exit_code = complain(kCalledWrongly, fmt::format("'{}' is not of the form SERVICE.METHOD", words->method));
      return;
    }
    if (const CommandTrouble trouble = complete_json(words->json); !trouble.empty()) {
      exit_code = complain(trouble);
      return;
    }
    exit_code =
        run_against_target(*words, [words](RpcAsker& asker) { return call_method(asker, words->method, words->json); });
  });
}

}  // namespace peal::cli
