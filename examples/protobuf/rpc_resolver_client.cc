// SPDX-License-Identifier: BSD-3-Clause
// Asks a server to look up names, all at the same time: `rpc_resolver_client ADDRESS NAME...`. Prints a line for each
// name, in the order of the arguments: the name and its IPv4 addresses, or "not found".
#include <arpa/inet.h>

#include <examples/protobuf/rpc_client.h>
#include <examples/protobuf/rpc_resolver.pb.h>

#include <peal/coro/when.h>

namespace {

using namespace peal;
using resolver::ResolveRequest;
using resolver::ResolveResponse;

constexpr Duration kPatience = std::chrono::minutes(1);

Task<Result<ResolveResponse>> look_up(RpcChannel& channel, std::string name) {
  ResolveRequest request;
  request.set_address(name);
  co_return co_await channel.call(&resolver::ResolverService::Resolve, request).within(kPatience);
}

std::string text_of(const ResolveResponse& response) {
  if (!response.resolved()) return " not found";
  std::string text;
  for (const in_addr_t ip : response.ip()) {
    char one[INET_ADDRSTRLEN];
    text += ' ';
    text += inet_ntop(AF_INET, &ip, one, sizeof one);
  }
  return text;
}

// Looks up the names and prints the answers. Returns the exit code of the program.
Task<int> ask(Loop& loop, std::string address, std::vector<std::string> names) {
  RpcChannel channel(loop, examples::one_attempt());
  if (Result<void> begun = channel.connect(address); !begun) {
    co_return examples::failed("cannot connect to " + address, begun.error());
  }
  std::vector<Task<Result<ResolveResponse>>> lookups;
  lookups.reserve(names.size());
  for (const std::string& name : names) lookups.push_back(look_up(channel, name));
  const std::vector<Result<ResolveResponse>> answers = co_await when_all(std::move(lookups));
  int exit_code = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (answers[i]) {
      fmt::print("{}{}\n", names[i], text_of(*answers[i]));
    } else {
      exit_code = examples::failed(names[i], answers[i].error());
    }
  }
  co_return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: rpc_resolver_client ADDRESS NAME...\n");
    return 2;
  }
  Loop loop;
  return examples::run(loop, ask(loop, argv[1], {argv + 2, argv + argc}));
}
