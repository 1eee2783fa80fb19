// SPDX-License-Identifier: BSD-3-Clause
// The options of `peal load duel` that name another machine on which the servers are started.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include <cli/load/duel_arguments.h>
#include <load/remote/servers_there.h>

namespace peal::cli {

void add_remote_options(CLI::App& command, DuelArguments& words);

// Reads the options that name another machine for the servers, such as --server-host. Returns nothing if the servers
// are started on this machine. The error is a sentence about a wrong option.
std::expected<std::optional<load::RemoteHost>, std::string> read_remote_host(const DuelArguments& words,
                                                                             const load::DuelOptions& options);

}  // namespace peal::cli
