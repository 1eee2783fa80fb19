// SPDX-License-Identifier: BSD-3-Clause
// A client sends its request, then FIN, and then reads a 60 MB answer. Libraries that take the FIN for the end of the
// connection cut the answer off (with one of them, 3.9 MB arrived). Here the whole answer arrives, in whatever pieces
// it was sent.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr size_t kSize = 60'000'000;

class HalfCloseTruncatesNothing : public test::NetTest {
 protected:
  // Reads slowly until FIN, at most 1 MiB per turn. Succeeds if exactly `wanted` arrives.
  testing::AssertionResult answer_arrives(RawPeer& peer, const std::string& wanted) {
    std::string room(1024 * 1024, '\0');
    size_t got = 0;
    bool same = true;
    testing::AssertionResult ended = wait_until([&] {
      ssize_t count = ::recv(peer.fd(), room.data(), room.size(), MSG_DONTWAIT);
      if (count <= 0) return count == 0;
      const auto size = static_cast<size_t>(count);
      same = same && got + size <= wanted.size() && std::string_view(room).substr(0, size) == wanted.substr(got, size);
      got += size;
      return false;
    });
    if (!ended) return ended;
    if (!same || got != wanted.size()) return testing::AssertionFailure() << got << " bytes arrived, intact: " << same;
    return testing::AssertionSuccess();
  }
  // Connects a peer that sends a request and FIN. Expects that it gets `answer`, and that the server's connection ends
  // for the reason `end`.
  void expect_answer(ConnectionCallbacks callbacks, const std::string& answer, std::string_view end) {
    callbacks.on_close = [this](Connection&, CloseReason reason) { journal.add(std::string(to_string(reason))); };
    auto server = serve(std::move(callbacks));
    RawPeer peer = connect_peer();
    peer.send("?");
    peer.fin();
    EXPECT_TRUE(answer_arrives(peer, answer));
    EXPECT_TRUE(noted(end));
    EXPECT_EQ(journal.lines().size(), 1u);
  }
};

TEST_P(HalfCloseTruncatesNothing, answer_in_one_piece) {
  const std::string answer = pattern(kSize);
  expect_answer({.on_message =
                     [&](Connection& connection, Buffer& input) {
                       input.clear();
                       connection.send(answer);
                     }},
                answer, "closed by the peer");
}

TEST_P(HalfCloseTruncatesNothing, answer_piece_by_piece_under_backpressure) {
  const std::string answer = pattern(kSize);
  size_t sent = 0;
  auto send_more = [&](Connection& connection) {
    bool more = true;
    while (more && sent < kSize) {
      const size_t size = std::min<size_t>(100'000, kSize - sent);
      more = connection.send(std::string_view(answer).substr(sent, size));
      sent += size;
    }
    if (sent == kSize) connection.close();
  };
  expect_answer({.on_message = [&](Connection&, Buffer& input) { input.clear(); },
                 .on_writable = send_more,
                 .on_peer_end = send_more},
                answer, "closed here");
}

PEAL_TEST_ON_EVERY_ENGINE(HalfCloseTruncatesNothing);

}  // namespace
}  // namespace peal
