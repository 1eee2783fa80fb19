// SPDX-License-Identifier: BSD-3-Clause
// TestClient: a client of the service, for the test. Its channel connects again after each failure.
#pragma once

#include <optional>
#include <string>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/rpc_channel.h>

namespace app {

class TestClient {
 public:
  // `address` is the service's, as "10.0.0.1:8000". The client's tasks run on `loop`.
  TestClient(peal::Loop& loop, std::string address);

  // Both fail with an error of the network, or with EPROTO if the service answers what it never should. After an error
  // of put(), the value may be stored or not.
  peal::Task<peal::Result<void>> put(std::string key, std::string value);
  peal::Task<peal::Result<std::optional<std::string>>> get(std::string key);

 private:
  // Begins to connect. The channel then tries again by itself, and the calls wait.
  void connect();
  // The network may lose a connection so that neither side is told. So a call that has timed out ends the connection.
  void connect_again();

  const std::string address_;
  peal::RpcChannel channel_;
};

}  // namespace app
