// SPDX-License-Identifier: BSD-3-Clause
// The layers of a TLS server and a TLS client, for tests. The server has a self-signed certificate for localhost,
// 127.0.0.1 and the other names that tests use, and the client trusts it. The whole process shares one of each.
#pragma once

#include <peal/engine/stream_port.h>

namespace peal::test {

const StreamLayer& tls_server();
const StreamLayer& tls_client();

}  // namespace peal::test
