// SPDX-License-Identifier: BSD-3-Clause
// The two sides of TLS as tests have them: a self-signed certificate for localhost and 127.0.0.1, which the client
// believes. One of each for the process.
#pragma once

#include <peal/engine/stream_port.h>

namespace peal::test {

const StreamLayer& tls_server();
const StreamLayer& tls_client();

}  // namespace peal::test
