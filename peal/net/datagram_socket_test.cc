// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/datagram_socket.h>

#include <stdexcept>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class DatagramSocketTest : public test::NetTest {
 protected:
  // Returns callbacks that note each datagram and error.
  DatagramCallbacks noting() {
    return {.on_datagram = [this](DatagramSocket&, const SocketAddress&,
                                  Buffer& bytes) { journal.add("got " + bytes.to_string()); },
            .on_error = [this](DatagramSocket&, std::error_code error) { journal.add(error.message()); }};
  }
  static DatagramCallbacks echoing_datagrams() {
    return {.on_datagram = [](DatagramSocket& self, const SocketAddress& from, Buffer& bytes) {
      EXPECT_TRUE(self.send_to(from, bytes.to_string()));
    }};
  }
  SocketAddress open(DatagramSocket& socket) {
    const Result<SocketAddress> opened = ask([&] { return socket.open("127.0.0.1:0"); });
    EXPECT_TRUE(opened) << test::error_of(opened).message();
    return opened.value_or(SocketAddress());
  }
  // Sends five datagrams to the socket, which must note the first one as `line`, and no other.
  void expect_one_of_five(DatagramSocket& socket, std::string_view line) {
    DatagramSocket sender(loop(), {});
    open(sender);
    const SocketAddress there = open(socket);
    ask([&] {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(sender.send_to(there, "end"));
    });
    ASSERT_TRUE(noted(line));
    ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 10; }));
    EXPECT_EQ(journal.lines().size(), 1u);
  }
};

TEST_P(DatagramSocketTest, is_answered_by_another) {
  DatagramSocket server(loop(), echoing_datagrams());
  DatagramSocket client(loop(), noting());
  const SocketAddress there = open(server);
  const SocketAddress here = open(client);
  EXPECT_NE(here.port(), 0);
  EXPECT_EQ(ask([&] { return client.local_address().value(); }), here);
  ask([&] {
    EXPECT_TRUE(client.send_to(there, "one"));
    EXPECT_TRUE(client.send_to(there, ""));
    EXPECT_TRUE(client.send_to(there, std::string(9000, 'x')));
  });
  ASSERT_TRUE(noted("got " + std::string(9000, 'x')));
  EXPECT_THAT(journal.lines(), ElementsAre("got one", "got ", "got " + std::string(9000, 'x')));
  const DatagramStats stats = ask([&] { return client.stats(); });
  EXPECT_EQ(stats.sent, 3u);
  EXPECT_EQ(stats.sent_bytes, 9003u);
  EXPECT_EQ(stats.received, 3u);
  EXPECT_EQ(stats.received_bytes, 9003u);
  EXPECT_EQ(stats.dropped, 0u);
  const DatagramStats echoed = ask([&] { return server.stats(); });
  EXPECT_EQ(echoed.sent, 3u);
  EXPECT_EQ(echoed.received, 3u);
}

TEST_P(DatagramSocketTest, what_cannot_be_sent_is_an_error_and_counted) {
  DatagramSocket socket(loop(), {});
  const SocketAddress here = open(socket);
  ask([&] {
    EXPECT_EQ(test::error_of(socket.send_to(here, std::string(Engine::kMostDatagramBytes + 1, 'x'))),
              errno_code(EMSGSIZE));
    EXPECT_EQ(socket.stats().dropped, 1u);
    EXPECT_EQ(socket.stats().sent, 0u);
    socket.close();
    EXPECT_EQ(test::error_of(socket.send_to(here, "late")), errno_code(EBADF));
    EXPECT_EQ(socket.stats().dropped, 2u);
    EXPECT_EQ(test::error_of(socket.local_address()), errno_code(EBADF));
    EXPECT_FALSE(socket.is_open());
    socket.close();
  });
}

TEST_P(DatagramSocketTest, burst_that_the_kernel_dropped_in_part_is_counted) {
  DatagramSocket socket(loop(), noting());
  DatagramSocket sender(loop(), {});
  open(sender);
  const SocketAddress there = ask([&] { return socket.open("127.0.0.1:0", {.receive_buffer_bytes = 4096}).value(); });
  constexpr uint64_t kBurst = 200;
  // Occupies the loop, so that it receives nothing before this is over.
  ask([&] {
    for (uint64_t i = 0; i < kBurst; ++i) EXPECT_TRUE(sender.send_to(there, std::string(100, 'x')));
  });
  uint64_t sent = kBurst;
  ASSERT_TRUE(wait_until([&] {
    const DatagramStats& stats = socket.stats();
    if (stats.received + stats.kernel_dropped == sent) return true;
    // The kernel reports drops only with a datagram that it receives after them.
    sent += sender.send_to(there, "how many?") ? 1 : 0;
    return false;
  }));
  EXPECT_GT(ask([&] { return socket.stats().kernel_dropped; }), 0u);
  EXPECT_EQ(ask([&] { return sender.stats().kernel_dropped; }), 0u);
}

TEST_P(DatagramSocketTest, buffers_are_what_the_kernel_made_of_the_options) {
  DatagramSocket plain(loop(), {});
  DatagramSocket socket(loop(), {});
  open(plain);
  ask([&] {
    EXPECT_EQ(test::error_of(socket.buffers()), errno_code(EBADF));
    ASSERT_TRUE(socket.open("127.0.0.1:0", {.receive_buffer_bytes = 8192, .send_buffer_bytes = 8192}));
    const DatagramBuffers buffers = socket.buffers().value();
    EXPECT_GE(buffers.receive_bytes, 8192);
    EXPECT_GE(buffers.send_bytes, 8192);
    EXPECT_LT(buffers.receive_bytes, plain.buffers().value().receive_bytes);
    EXPECT_LT(buffers.send_bytes, plain.buffers().value().send_bytes);
    socket.close();
    EXPECT_EQ(test::error_of(socket.buffers()), errno_code(EBADF));
  });
}

TEST_P(DatagramSocketTest, member_of_a_group_hears_it_until_it_leaves) {
  DatagramSocket member(loop(), noting());
  DatagramSocket sender(loop(), {});
  const std::string group = "239.255.77.2:0";
  ask([&] {
    SocketAddress there = SocketAddress::parse(group).value();
    const SocketAddress own = member.open("0.0.0.0:0").value();
    there.set_port(own.port());
    ASSERT_TRUE(sender.open("127.0.0.1:0", {.multicast_interface = "lo"}));
    ASSERT_TRUE(member.join(group, "lo"));
    EXPECT_TRUE(sender.send_to(there, "joined"));
    ASSERT_TRUE(member.leave(there, "lo"));
    EXPECT_TRUE(sender.send_to(there, "left"));
    ASSERT_TRUE(member.join(there, "lo"));
    EXPECT_TRUE(sender.send_to(there, "joined again"));
    ASSERT_TRUE(member.leave(group, "lo"));
  });
  ASSERT_TRUE(noted("got joined again"));
  EXPECT_THAT(journal.lines(), ElementsAre("got joined", "got joined again"));
}

TEST_P(DatagramSocketTest, group_that_cannot_be_joined_is_an_error) {
  DatagramSocket socket(loop(), {});
  const SocketAddress group = SocketAddress::parse("239.255.77.2:0").value();
  ask([&] {
    EXPECT_EQ(test::error_of(socket.join(group, "lo")), errno_code(EBADF));
    EXPECT_EQ(test::error_of(socket.leave(group, "lo")), errno_code(EBADF));
  });
  const SocketAddress here = open(socket);
  ask([&] {
    EXPECT_EQ(test::error_of(socket.join(here, "lo")), errno_code(EINVAL));
    EXPECT_EQ(test::error_of(socket.join(group, "nonesuch0")), errno_code(ENODEV));
    EXPECT_EQ(test::error_of(socket.leave(group, "lo")), errno_code(EADDRNOTAVAIL));
    EXPECT_EQ(test::error_of(socket.join("group.example:1", "lo")), make_error_code(Trouble::kNameNotAddress));
    EXPECT_EQ(test::error_of(socket.leave("239.255.77.2", "lo")), make_error_code(Trouble::kNoPort));
  });
}

TEST_P(DatagramSocketTest, opens_once_and_where_nobody_is) {
  DatagramSocket socket(loop(), {});
  DatagramSocket second(loop(), {});
  const SocketAddress here = open(socket);
  ask([&] {
    EXPECT_EQ(test::error_of(socket.open(here)), errno_code(EALREADY));
    EXPECT_EQ(test::error_of(second.open(here)), errno_code(EADDRINUSE));
    EXPECT_EQ(test::error_of(second.open("localhost:1")), make_error_code(Trouble::kNameNotAddress));
    EXPECT_TRUE(second.open("127.0.0.1:0"));
  });
}

TEST_P(DatagramSocketTest, port_that_nobody_has_is_told) {
  DatagramSocket gone(loop(), {});
  DatagramSocket socket(loop(), noting());
  const SocketAddress nobody = open(gone);
  open(socket);
  ask([&] { gone.close(); });
  ask([&] { EXPECT_TRUE(socket.send_to(nobody, "anybody?")); });
  ASSERT_TRUE(noted("Connection refused"));
  EXPECT_EQ(ask([&] { return socket.stats().errors; }), 1u);
}

TEST_P(DatagramSocketTest, dies_inside_its_callback) {
  std::optional<DatagramSocket> socket;
  socket.emplace(loop(), DatagramCallbacks{.on_datagram = [&](DatagramSocket&, const SocketAddress&, Buffer&) {
                   socket.reset();
                   journal.add("gone");
                 }});
  expect_one_of_five(*socket, "gone");
}

TEST_P(DatagramSocketTest, closed_inside_its_callback_hears_nothing_more) {
  DatagramSocket socket(loop(), {.on_datagram = [&](DatagramSocket& self, const SocketAddress&, Buffer&) {
                          self.close();
                          journal.add("closed");
                        }});
  expect_one_of_five(socket, "closed");
}

TEST_P(DatagramSocketTest, callback_that_throws_is_survived) {
  DatagramSocket socket(loop(), {.on_datagram = [&](DatagramSocket&, const SocketAddress&, Buffer& bytes) {
                          journal.add(bytes.to_string());
                          if (bytes.to_string() == "a") throw std::runtime_error("not this one");
                          if (bytes.to_string() == "b") throw 7;
                        }});
  const SocketAddress here = open(socket);
  ask([&] {
    for (const char* text : {"a", "b", "c"}) EXPECT_TRUE(socket.send_to(here, text));
  });
  ASSERT_TRUE(noted("c"));
  EXPECT_EQ(ask([&] { return socket.stats().exceptions; }), 2u);
}

TEST_P(DatagramSocketTest, dies_on_another_thread_while_the_loop_runs) {
  std::optional<DatagramSocket> socket;
  socket.emplace(loop(), noting());
  const SocketAddress here = open(*socket);
  ask([&] { EXPECT_TRUE(socket->send_to(here, "x")); });
  socket.reset();
  const size_t lines = journal.lines().size();
  ask([] {});
  EXPECT_EQ(journal.lines().size(), lines);
}

TEST_P(DatagramSocketTest, outlives_its_loop) {
  DatagramSocket socket(loop(), noting());
  DatagramSocket never_opened(loop(), {});
  open(socket);
  end_loop();
  EXPECT_EQ(test::error_of(never_opened.open("127.0.0.1:0")), make_error_code(Trouble::kLoopStopped));
  EXPECT_EQ(test::error_of(socket.send_to(SocketAddress(), "late")), errno_code(EBADF));
  destroy_loop();
}

PEAL_TEST_ON_EVERY_ENGINE(DatagramSocketTest);

}  // namespace
}  // namespace peal
