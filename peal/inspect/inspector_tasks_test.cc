// SPDX-License-Identifier: BSD-3-Clause
// The inspector counts the coroutines of a CoServer.
#include <thread>

#include <gmock/gmock.h>

#include <peal/coro/co_server.h>
#include <peal/inspect/inspector.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using test::http_answer;
using testing::HasSubstr;

TEST(InspectorTasks, are_counted_until_they_end) {
  test::LoopThread thread({.engine = "epoll"});
  CoServer server(thread.loop(), [](Stream stream) -> Task<> {
    for (;;) {
      const Result<Buffer> input = co_await stream.read();
      if (!input || input->empty()) co_return;
    }
  });
  auto inspector = Inspector::start("127.0.0.1:0").value();
  inspector->add(server);
  EXPECT_THAT(http_answer(inspector->address(), "GET /servers?format=json"), HasSubstr("\"tasks\":0"));
  RawPeer peer = RawPeer::connected(server.listen("127.0.0.1:0").value());
  while (server.tasks() == 0) std::this_thread::yield();
  EXPECT_THAT(http_answer(inspector->address(), "GET /servers?format=json"), HasSubstr("\"tasks\":1"));
  EXPECT_THAT(http_answer(inspector->address(), "GET /metrics"),
              HasSubstr("\npeal_server_tasks{server=\"0\",name=\"server 0\"} 1\n"));
  peer.close();
  while (server.tasks() != 0) std::this_thread::yield();
  EXPECT_THAT(http_answer(inspector->address(), "GET /servers?format=json"), HasSubstr("\"tasks\":0"));
  inspector->remove(server.server());
}

}  // namespace
}  // namespace peal
