// SPDX-License-Identifier: BSD-3-Clause
// Where a run goes: from the text of a target to its address. A name is looked up once, before the run, and blocks
// meanwhile; its first address of any family counts.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <peal/engine/socket_address.h>

namespace peal::cli {

// HOST:PORT, [HOST]:PORT or unix:PATH. The error is one sentence.
std::expected<SocketAddress, std::string> find_target(std::string_view text);
// The host without brackets.
std::expected<SocketAddress, std::string> find_host(const std::string& host, uint16_t port);

}  // namespace peal::cli
