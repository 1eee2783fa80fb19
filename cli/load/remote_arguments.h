// SPDX-License-Identifier: BSD-3-Clause
// What of the command line of `peal load duel` says on which other machine its servers are started.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <cli/load/duel_arguments.h>
#include <load/remote/servers_there.h>

namespace peal::cli {

void add_remote_options(CLI::App& command, DuelArguments& words);

// Nothing: this machine. The error is one sentence, and the words are wrong.
std::expected<std::optional<load::RemoteHost>, std::string> read_remote_host(const DuelArguments& words,
                                                                             const load::DuelOptions& options);

// A word as a shell takes it back.
std::string quoted_for_shell(std::string_view word);

}  // namespace peal::cli
