// SPDX-License-Identifier: BSD-3-Clause
// The five services that every machine once had: echo (RFC 862), discard (RFC 863), chargen (RFC 864), daytime (RFC
// 867) and time (RFC 868). Each function returns the callbacks for a Server.
#pragma once

#include <atomic>
#include <cstdint>

#include <peal/loop/loop.h>
#include <peal/net/connection.h>

namespace peal::examples {

SharedConnectionCallbacks echo_service();
SharedConnectionCallbacks discard_service();
SharedConnectionCallbacks daytime_service();
SharedConnectionCallbacks time_service();

// The callbacks add the number of bytes that they pass to Connection::send() to `sent_bytes`, which must outlive the
// server.
SharedConnectionCallbacks chargen_service(std::atomic<uint64_t>& sent_bytes);
// Starts a timer on the loop and returns. After each `period`, the timer prints by how many MiB per second `bytes` has
// grown in that period. The timer prints nothing if `bytes` has not grown. `bytes` must outlive the loop.
void print_throughput(Loop& loop, Duration period, const std::atomic<uint64_t>& bytes);

// The time protocol (RFC 868) counts from 1900-01-01 00:00 UTC, and Unix from 1970-01-01.
inline constexpr uint32_t kSecondsFrom1900To1970 = 2'208'988'800;

}  // namespace peal::examples
