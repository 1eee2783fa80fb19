// SPDX-License-Identifier: BSD-3-Clause
#include "test_client.h"

#include <cerrno>
#include <chrono>

#include <nlohmann/json.hpp>

namespace app {
namespace {

constexpr peal::Duration kPatience = std::chrono::seconds(2);  // for an answer; the network may lose the connection

}  // namespace

peal::Task<peal::Result<void>> TestClient::put(std::string key, std::string value) {
  peal::HttpClientRequest request("PUT", base_ + key, nlohmann::json({{"value", value}}).dump());
  request.add("Content-Type", "application/json");
  const peal::Result<peal::HttpResponse> answer = co_await client_.fetch(std::move(request)).within(kPatience);
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->status() != 204) co_return peal::fail(EPROTO);
  co_return peal::Result<void>();
}

peal::Task<peal::Result<std::optional<std::string>>> TestClient::get(std::string key) {
  peal::HttpClientRequest request(base_ + key);
  const peal::Result<peal::HttpResponse> answer = co_await client_.fetch(std::move(request)).within(kPatience);
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->status() == 404) co_return std::optional<std::string>();
  const nlohmann::json body = nlohmann::json::parse(answer->body, nullptr, false);
  if (answer->status() != 200 || !body.is_object() || body.value("key", "") != key || !body.contains("value")) {
    co_return peal::fail(EPROTO);
  }
  co_return body["value"].get<std::string>();
}

}  // namespace app
