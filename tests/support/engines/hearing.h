// SPDX-License-Identifier: BSD-3-Clause
// For tests that look at what a connection received when all is over.
#pragma once

#include <string>

#include <peal/net/connection.h>

namespace peal::test {

// An on_message that appends what comes to `heard`.
inline auto hearing(std::string& heard) {
  return [&heard](Connection&, Buffer& input) {
    heard += input.view();
    input.clear();
  };
}

}  // namespace peal::test
