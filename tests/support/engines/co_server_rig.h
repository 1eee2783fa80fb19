// SPDX-License-Identifier: BSD-3-Clause
// CoServerTest: a fixture with a CoServer, which serves each connection by a coroutine. The server runs on the loop of
// a NetTest. The fixture destroys the server before the loop.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <tests/support/net_rig.h>

namespace peal::test {

class CoServerTest : public NetTest {
 protected:
  void TearDown() override {
    server_.reset();
    NetTest::TearDown();
  }
  // Makes a server that runs the coroutine `serve` for each connection. Returns the server's address.
  SocketAddress serve_tasks(CoServer::Serve serve, const ServerOptions& options = {}) {
    server_ = std::make_unique<CoServer>(loop(), std::move(serve), options);
    const Result<SocketAddress> bound = server_->listen("127.0.0.1:0");
    EXPECT_TRUE(bound);
    return *bound;
  }
  RawPeer serve_one(CoServer::Serve serve) { return RawPeer::connected(serve_tasks(std::move(serve))); }

  std::unique_ptr<CoServer> server_;
};

}  // namespace peal::test
