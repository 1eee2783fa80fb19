// SPDX-License-Identifier: BSD-3-Clause
// The commands of `peal-rpc`. They work with every server that serves muduo.net.RpcService.
#pragma once

#include <cli/command.h>

namespace peal::cli {

void add_rpc_list(CLI::App& app, int& exit_code);
void add_rpc_call(CLI::App& app, int& exit_code);

}  // namespace peal::cli
