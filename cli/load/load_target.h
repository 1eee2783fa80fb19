// SPDX-License-Identifier: BSD-3-Clause
// Functions that turn the text of a target into an address. They block while they look up a name. They are called once,
// before the run.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <cli/command.h>
#include <peal/base/socket_address.h>

namespace peal::cli {

// Returns the address of HOST:PORT, [HOST]:PORT or unix:PATH. Fails with kCalledWrongly for any other text, and with
// kFailed if the name has no address.
std::expected<SocketAddress, CommandTrouble> find_target(std::string_view text);
// Returns the address of `host`, which is a name or an address without brackets. If a name has several addresses,
// returns the first one that accepts a connection. For example, `localhost` may be ::1 and 127.0.0.1, but the server
// may listen only on 127.0.0.1.
std::expected<SocketAddress, CommandTrouble> find_host(const std::string& host, uint16_t port);

// Returns the first address that accepts a connection, or addresses[0] if none does. Waits up to 1 s for each address.
// A single address is returned without connecting, because there is no other one to choose. Asserts that `addresses` is
// not empty.
SocketAddress first_that_listens(const std::vector<SocketAddress>& addresses);

}  // namespace peal::cli
