// SPDX-License-Identifier: BSD-3-Clause
// InspectorRig: a fixture with an echo server, one connection, and an inspector that shows them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/inspect/inspector.h>
#include <tests/support/http_rig.h>

namespace peal::test {

class InspectorRig : public testing::Test {
 protected:
  ~InspectorRig() override { set_log_level(level_); }

  std::string get(std::string_view path, const std::string& fields = {}) {
    return http_answer(inspector->address(), fmt::format("GET {}", path), fields);
  }
  std::string post(std::string_view path, const std::string& fields = "Peal-Action: 1\r\n") {
    return http_answer(inspector->address(), fmt::format("POST {}", path), "Content-Length: 0\r\n" + fields);
  }
  static std::string body(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == answer.npos ? std::string() : answer.substr(end + 4);
  }
  nlohmann::json get_json(std::string_view path) {
    return nlohmann::json::parse(body(get(path, "Accept: application/json\r\n")));
  }
  // Makes an echo server on `thread`, with one connection that has got its echo.
  void serve() {
    server = std::make_unique<Server>(thread.loop(), test::echoing());
    served = server->listen("127.0.0.1:0").value();
    peer.connect(served);
    peer.send("hello");
    while (peer.received() != "hello" && readable(peer.fd())) peer.pump();
    ASSERT_EQ(peer.received(), "hello");
  }
  // The inspector waits for each loop for a minute unless told otherwise, because a busy machine may hold a loop up for
  // longer than an inspector waits by default.
  void attach(const InspectorOptions& options = {.reply_timeout = std::chrono::minutes(1)}) {
    inspector = Inspector::attach(*server, "127.0.0.1:0", options).value();
  }
  std::string connection_id() { return get_json("/connections")["connections"][0]["id"]; }

  const LogLevel level_ = log_level();
  test::LoopThread thread{{.engine = "epoll"}};
  std::unique_ptr<Server> server;
  SocketAddress served;  // the address of `server`
  std::unique_ptr<Inspector> inspector;
  RawPeer peer;
};

}  // namespace peal::test
