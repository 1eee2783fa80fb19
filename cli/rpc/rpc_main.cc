// SPDX-License-Identifier: BSD-3-Clause
// The program `peal-rpc`: lists what RPC servers serve, and calls their methods. It is a program of its own, because
// `peal` does not link protobuf.
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
      {.name = "peal-rpc",
       .about = "peal-rpc: list what an RPC server serves, and call its methods, without .proto files",
       .file = "peal-rpc",
       .examples = "  peal-rpc list 127.0.0.1:9981\n"
                   "  peal-rpc call --help"});
}
