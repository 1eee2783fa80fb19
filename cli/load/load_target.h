// SPDX-License-Identifier: BSD-3-Clause
// Where a run goes: from the text of a target to its address. A name is looked up once, before the run, and blocks
// meanwhile; its first address of any family counts.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <cli/command.h>
#include <peal/base/socket_address.h>

namespace peal::cli {

// HOST:PORT, [HOST]:PORT or unix:PATH. A text that is none is wrong; a name without an address has failed.
std::expected<SocketAddress, CommandTrouble> find_target(std::string_view text);
// The host without brackets. Of several addresses the first that lets us connect: `localhost` may be ::1 and then
// 127.0.0.1, and a server listen on the second.
std::expected<SocketAddress, CommandTrouble> find_host(const std::string& host, uint16_t port);

// The first of them on which somebody listens, or the first where nobody does; a single one is not tried. Waits up to a
// second for each. `addresses` is not empty.
SocketAddress first_that_listens(const std::vector<SocketAddress>& addresses);

}  // namespace peal::cli
