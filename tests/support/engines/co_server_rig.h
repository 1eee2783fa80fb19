// SPDX-License-Identifier: BSD-3-Clause
// CoServerTest: a CoServer on the loop of a NetTest. It ends before the test does.
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
  // Each connection runs `serve`. Answers where the server listens.
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
