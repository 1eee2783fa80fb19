// SPDX-License-Identifier: BSD-3-Clause
// The coroutines of a CoServer as the inspector counts them.
#include <poll.h>

#include <thread>

#include <gmock/gmock.h>

#include <peal/coro/co_server.h>
#include <peal/inspect/inspector.h>
#include <tests/support/net_rig.h>
#include <tests/support/program.h>

namespace peal {
namespace {

using testing::HasSubstr;

std::string page(const Inspector& inspector, std::string_view path) {
  RawPeer peer;
  peer.connect(inspector.address());
  peer.send(fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path));
  while (peer.pump() && ready(peer.fd(), POLLIN)) continue;
  return peer.received();
}

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
  EXPECT_THAT(page(*inspector, "/servers"), HasSubstr("\"tasks\":0"));
  RawPeer peer;
  peer.connect(server.listen("127.0.0.1:0").value());
  while (server.tasks() == 0) std::this_thread::yield();
  EXPECT_THAT(page(*inspector, "/servers"), HasSubstr("\"tasks\":1"));
  EXPECT_THAT(page(*inspector, "/metrics"), HasSubstr("\npeal_server_tasks{server=\"0\",name=\"server 0\"} 1\n"));
  peer.close();
  while (server.tasks() != 0) std::this_thread::yield();
  EXPECT_THAT(page(*inspector, "/servers"), HasSubstr("\"tasks\":0"));
  inspector->remove(server.server());
}

}  // namespace
}  // namespace peal
