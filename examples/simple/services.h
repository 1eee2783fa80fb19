// SPDX-License-Identifier: BSD-3-Clause
// The five services every machine once had: echo (RFC 862), discard (RFC 863), chargen (RFC 864), daytime (RFC 867) and
// time (RFC 868), each as the callbacks of a Server.
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

// Adds what the kernel took to `sent_bytes`, which outlives the server.
SharedConnectionCallbacks chargen_service(std::atomic<uint64_t>& sent_bytes);
// Prints, every `period`, how fast `bytes` grew; nothing while it does not.
void print_throughput(Loop& loop, Duration period, const std::atomic<uint64_t>& bytes);

// RFC 868: seconds since 1900-01-01 00:00 UTC.
inline constexpr uint32_t kSecondsFrom1900To1970 = 2'208'988'800;

}  // namespace peal::examples
