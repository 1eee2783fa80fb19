// SPDX-License-Identifier: BSD-3-Clause
// `peal-rpc`: looks into RPC servers and calls them. A program of its own, since `peal` does not link protobuf.
#include <cli/rpc/rpc_commands.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(
      argc, argv, PEAL_VERSION,
      [](CLI::App& app, int& exit_code) {
        peal::cli::add_rpc_list(app, exit_code);
        peal::cli::add_rpc_call(app, exit_code);
        peal::cli::refuse_empty_texts(app);
      },
      {.name = "peal-rpc", .about = "peal-rpc: what an RPC server serves, and calls of it, without .proto files"});
}
