// SPDX-License-Identifier: BSD-3-Clause
// The two echo services of `peal serve`, each written with callbacks and as a coroutine. `pingpong` sends back all
// bytes that arrive. `echo` sends back each frame, which is a length and a body (LengthFraming). A body of more than 1
// MiB ends the connection.
#pragma once

#include <peal/coro/co_server.h>
#include <peal/net/connection.h>

namespace peal::cli {

SharedConnectionCallbacks ping_pong();
Task<> ping_pong_task(Stream stream);

SharedConnectionCallbacks framed_echo();
Task<> framed_echo_task(Stream stream);

}  // namespace peal::cli
