// SPDX-License-Identifier: BSD-3-Clause
// TestClient: a client of the service, for the test. It connects again after each failure.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <peal/coro/task.h>
#include <peal/http/client/http_client.h>
#include <peal/loop/loop.h>

namespace app {

class TestClient {
 public:
  // `address` is the service's, as "10.0.0.1:8000". The client's tasks run on `loop`.
  TestClient(peal::Loop& loop, const std::string& address) : client_(loop), base_("http://" + address + "/values/") {}

  // Both fail with an error of the network, or with EPROTO if the service answers what it never should. After an error
  // of put(), the value may be stored or not.
  peal::Task<peal::Result<void>> put(std::string key, std::string value);
  peal::Task<peal::Result<std::optional<std::string>>> get(std::string key);

 private:
  peal::HttpClient client_;
  const std::string base_;
};

}  // namespace app
