// SPDX-License-Identifier: BSD-3-Clause
#include "test_client.h"

#include <cerrno>
#include <chrono>

#include <peal/coro/connect.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace app {
namespace {

constexpr peal::LineFraming kLines;
constexpr peal::Duration kPatience = std::chrono::seconds(2);  // for an answer; the network may lose the connection

}  // namespace

peal::Task<peal::Result<void>> TestClient::put(std::string key, std::string value) {
  const peal::Result<std::string> answer = co_await ask("put " + key + ' ' + value);
  if (!answer) co_return std::unexpected(answer.error());
  if (*answer != "ok") co_return peal::fail(EPROTO);
  co_return peal::Result<void>();
}

peal::Task<peal::Result<std::optional<std::string>>> TestClient::get(std::string key) {
  const peal::Result<std::string> answer = co_await ask("get " + key);
  if (!answer) co_return std::unexpected(answer.error());
  if (*answer == "none") co_return std::optional<std::string>();
  if (!answer->starts_with("= ")) co_return peal::fail(EPROTO);
  co_return answer->substr(2);
}

peal::Task<peal::Result<std::string>> TestClient::ask(std::string line) {
  peal::Result<std::string> answer = co_await ask_once(std::move(line));
  if (!answer) stream_.reset();  // a late answer must not be taken for that of the next line
  co_return answer;
}

peal::Task<peal::Result<std::string>> TestClient::ask_once(std::string line) {
  if (!stream_) {
    peal::Result<peal::Stream> connected = co_await peal::connect(address_).within(kPatience);
    if (!connected) co_return std::unexpected(connected.error());
    stream_ = std::move(*connected);
  }
  if (const auto sent = co_await stream_->write(line + '\n'); !sent) co_return std::unexpected(sent.error());
  auto answer = co_await stream_->read(kLines).within(kPatience);
  if (!answer) co_return std::unexpected(answer.error());
  if (!*answer) co_return peal::fail(ECONNRESET);  // the service has ended the connection
  co_return (*answer)->to_string();
}

}  // namespace app
