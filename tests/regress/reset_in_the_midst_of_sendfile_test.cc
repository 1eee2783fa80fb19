// SPDX-License-Identifier: BSD-3-Clause
// sendfile(2) and splice(2) move bytes piece by piece. If a peer that has sent its FIN resets between two pieces, they
// return how many bytes were moved and no error, but they raise SIGPIPE. The engine took back this signal only after
// EPIPE, so it killed the process. Any client of a file server could cause that by a half-close and a reset during a
// download. Now the signal is taken back whenever fewer bytes were moved than asked for.
//
// This test cannot choose the moment of the reset, so it tries many times.
// peal/engine/readiness/parts/transfer_result_test.cc tests it without depending on luck.
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
  // Half-closes, reads at least `bytes` bytes, and resets while the rest is being sent.
  void visit(const SocketAddress& address, size_t bytes) {
    RawPeer peer = RawPeer::connected(address);
    peer.send("go");
    peer.fin();
    while (peer.received().size() < bytes && ready(peer.fd(), POLLIN)) peer.pump();
    EXPECT_GE(peer.received().size(), bytes);
    peer.reset();
  }
};

TEST_P(ResetInTheMidstOfSendfile, does_not_kill_the_process) {
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
