// SPDX-License-Identifier: BSD-3-Clause
// What `peal serve` serves, each with callbacks and as a coroutine: `pingpong` sends back whatever bytes arrive, `echo`
// answers each frame of LengthFraming with the same frame. A body longer than 1 MiB ends the connection.
#pragma once

#include <peal/coro/co_server.h>
#include <peal/net/connection.h>

namespace peal::cli {

SharedConnectionCallbacks ping_pong();
Task<> ping_pong_task(Stream stream);

SharedConnectionCallbacks framed_echo();
Task<> framed_echo_task(Stream stream);

}  // namespace peal::cli
