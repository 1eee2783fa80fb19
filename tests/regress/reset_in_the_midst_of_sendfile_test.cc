// SPDX-License-Identifier: BSD-3-Clause
// sendfile(2) and splice(2) move bytes piece by piece. Where a peer that has sent its FIN resets between two pieces
// they answer with how many went, no error, and yet raise SIGPIPE; it was taken back only after EPIPE, and so killed
// the process: any client of a web server that serves files could bring that about by a half-close and a reset in the
// midst of a download. Now it is taken back whenever less went than was asked for. The moment cannot be chosen here, so
// it is tried many times; peal/engine/readiness/parts/transfer_result_test.cc does without luck.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include <tests/support/net_rig.h>
#include <tests/support/program.h>

namespace peal {
namespace {

constexpr size_t kFileBytes = 8 * 1024 * 1024;
constexpr int kResets = 150;

class ResetInTheMidstOfSendfile : public test::NetTest {
 protected:
  // Half-closes, reads some, and resets while the rest is under way.
  void visit(const SocketAddress& address, size_t bytes) {
    RawPeer peer = RawPeer::connected(address);
    peer.send("go");
    peer.fin();
    while (peer.received().size() < bytes && ready(peer.fd(), POLLIN)) peer.pump();
    EXPECT_GE(peer.received().size(), bytes);
    peer.reset();
  }
};

TEST_P(ResetInTheMidstOfSendfile, kills_no_process) {
  const auto file = std::make_shared<Fd>(::memfd_create("large", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file->get(), kFileBytes), 0);
  std::atomic<int> closed = 0;
  auto server = serve({.on_message =
                           [&](Connection& connection, Buffer& input) {
                             input.clear();
                             connection.send_file({.file = file, .offset = 0, .bytes = kFileBytes});
                           },
                       .on_close = [&](Connection&, CloseReason) { ++closed; }});
  for (int count = 0; count < kResets; ++count) visit(address(), static_cast<size_t>(count) * 17'000);
  EXPECT_TRUE(wait_until([&] { return closed == kResets; }));
}

PEAL_TEST_ON_EVERY_ENGINE(ResetInTheMidstOfSendfile);

}  // namespace
}  // namespace peal
