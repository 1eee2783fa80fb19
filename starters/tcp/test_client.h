// SPDX-License-Identifier: BSD-3-Clause
// TestClient: a client of the service, for the test. It connects again after each failure.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <peal/coro/stream.h>
#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace app {

class TestClient {
 public:
  // `address` is the service's, as "10.0.0.1:8000". The client's tasks run on `loop`.
  TestClient(peal::Loop&, std::string address) : address_(std::move(address)) {}

  // Both fail with an error of the network, or with EPROTO if the service answers what it never should. After an error
  // of put(), the value may be stored or not.
  peal::Task<peal::Result<void>> put(std::string key, std::string value);
  peal::Task<peal::Result<std::optional<std::string>>> get(std::string key);

 private:
  // Sends a line and returns the answer, without its line end.
  peal::Task<peal::Result<std::string>> ask(std::string line);
  peal::Task<peal::Result<std::string>> ask_once(std::string line);

  const std::string address_;
  std::optional<peal::Stream> stream_;  // empty if there is no connection
};

}  // namespace app
