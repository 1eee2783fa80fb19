// SPDX-License-Identifier: BSD-3-Clause
// hearing(): for tests that check what a connection has received in all.
#pragma once

#include <string>

#include <peal/net/connection.h>

namespace peal::test {

// Returns an on_message callback that appends the received bytes to `heard`.
inline auto hearing(std::string& heard) {
  return [&heard](Connection&, Buffer& input) {
    heard += input.view();
    input.clear();
  };
}

}  // namespace peal::test
