// SPDX-License-Identifier: BSD-3-Clause
#include "test_client.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <peal/base/log.h>

#include "my_service.pb.h"

namespace app {
namespace {

namespace api = my_service_api;

constexpr peal::Duration kPatience = std::chrono::seconds(2);  // for an answer, with the time to connect

}  // namespace

TestClient::TestClient(peal::Loop& loop, std::string address) : address_(std::move(address)), channel_(loop) {
  connect();
}

void TestClient::connect() {
  const peal::Result<void> begun = channel_.connect(address_);
  if (!begun) PEAL_LOG_ERROR("cannot connect to {}: {}", address_, begun.error().message());
}

void TestClient::connect_again() {
  channel_.stop();
  connect();
}

peal::Task<peal::Result<void>> TestClient::put(std::string key, std::string value) {
  api::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  const auto response = co_await channel_.call(&api::Values::Put, request).within(kPatience);
  if (!response) {
    if (response.error() == std::errc::timed_out) connect_again();
    co_return std::unexpected(response.error());
  }
  if (!response->error().empty()) co_return peal::fail(EPROTO);
  co_return peal::Result<void>();
}

peal::Task<peal::Result<std::optional<std::string>>> TestClient::get(std::string key) {
  api::GetRequest request;
  request.set_key(key);
  const auto response = co_await channel_.call(&api::Values::Get, request).within(kPatience);
  if (!response) {
    if (response.error() == std::errc::timed_out) connect_again();
    co_return std::unexpected(response.error());
  }
  co_return response->found() ? std::optional(response->value()) : std::nullopt;
}

}  // namespace app
