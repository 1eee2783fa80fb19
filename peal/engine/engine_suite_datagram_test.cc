// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, datagrams: each is sent whole or not at all, names its sender, and sockets end cleanly.
#include <filesystem>
#include <string>
#include <vector>

#include <tests/support/engines/datagram_log.h>
#include <tests/support/files/temporary_folder.h>

namespace peal {
namespace {

class EngineDatagram : public DatagramTest {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineDatagram, testing::ValuesIn(every_engine()), engine_label);
class EngineDatagramFile : public EngineDatagram {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineDatagramFile, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineDatagram, question_and_answer) {
  std::vector<std::string> hosts{"127.0.0.1:0"};
  if (has_ipv6_loopback()) hosts.emplace_back("[::1]:0");
  for (const std::string& host : hosts) {
    DatagramLog server(rig().engine(), address_of(host));
    DatagramLog client(rig().engine(), address_of(host));
    EXPECT_NE(server.address.port(), 0);
    server.when_received = [&] {
      auto& [from, bytes] = server.received.back();
      EXPECT_TRUE(server.send(from, "re: " + bytes).has_value());
    };
    EXPECT_TRUE(client.send(server.address, "what time is it?").has_value());
    ASSERT_TRUE(rig().run_until([&] { return !client.received.empty(); }));
    EXPECT_EQ(client.received[0].bytes, "re: what time is it?");
    EXPECT_EQ(client.received[0].from, server.address);
    EXPECT_EQ(server.received[0].from, client.address);
    EXPECT_EQ(server.received.size(), 1U);
    EXPECT_EQ(client.received.size(), 1U);
    close(server);
    close(client);
  }
}

TEST_P(EngineDatagram, each_comes_whole_whatever_its_size) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  DatagramLog client(rig().engine(), EngineRig::loopback());
  const std::vector<size_t> sizes{0, 1, 1472, kLargeBlockBytes, kLargeBlockBytes + 1, Engine::kMostDatagramBytes};
  for (size_t size : sizes) {
    const std::string bytes = pattern(size);
    server.received.clear();
    ASSERT_TRUE(client.send(server.address, bytes).has_value()) << size;
    ASSERT_TRUE(rig().run_until([&] { return !server.received.empty(); })) << size;
    EXPECT_TRUE(same_bytes(server.received[0].bytes, bytes));
  }
  const std::string too_long = pattern(Engine::kMostDatagramBytes + 1);
  EXPECT_EQ(test::error_of(client.send(server.address, too_long)), std::errc::message_size);
  close(server);
  close(client);
}

TEST_P(EngineDatagram, many_at_once_come_in_order) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  DatagramLog client(rig().engine(), EngineRig::loopback());
  constexpr size_t kCount = 100;
  for (size_t i = 0; i < kCount; ++i) ASSERT_TRUE(client.send(server.address, std::to_string(i)).has_value());
  ASSERT_TRUE(rig().run_until([&] { return server.received.size() == kCount; }));
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(server.received[i].bytes, std::to_string(i));
  close(server);
  close(client);
}

TEST_P(EngineDatagram, closed_inside_its_own_callback) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  DatagramLog client(rig().engine(), EngineRig::loopback());
  server.when_received = [&] {
    server.close();
    EXPECT_EQ(test::error_of(server.send(client.address, "too late")), std::errc::bad_file_descriptor);
    server.close();
  };
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(client.send(server.address, "one is enough").has_value());
  ASSERT_TRUE(rig().run_until([&] { return server.closed > 0; }));
  EXPECT_EQ(server.received.size(), 1U);
  // The closed socket's address is free again.
  DatagramLog next(rig().engine(), server.address);
  close(next);
  close(client);
  EXPECT_EQ(server.closed, 1);
}

TEST_P(EngineDatagram, address_in_use_is_an_error) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  EXPECT_EQ(test::error_of(rig().engine().open_datagrams(server.address, {}, server)), std::errc::address_in_use);
  close(server);
}

TEST_P(EngineDatagram, what_the_receive_buffer_has_no_room_for_is_counted) {
  DatagramLog server(rig().engine(), EngineRig::loopback(), {.receive_buffer_bytes = 4096});
  DatagramLog client(rig().engine(), EngineRig::loopback());
  constexpr size_t kBurst = 200;
  for (size_t i = 0; i < kBurst; ++i) ASSERT_TRUE(client.send(server.address, pattern(100)).has_value());
  size_t sent = kBurst;
  const auto all_are_told_of = [&] {
    if (server.received.size() + server.dropped == sent) return true;
    // The kernel reports drops only with a datagram that it accepts after them.
    sent += client.send(server.address, "how many?").has_value() ? 1 : 0;
    return false;
  };
  ASSERT_TRUE(rig().run_beside(all_are_told_of)) << server.received.size() << " received of " << sent;
  EXPECT_GT(server.dropped, 0U);
  EXPECT_GT(server.received.size(), 0U);
  // No drop is reported twice.
  const uint64_t dropped = server.dropped;
  ASSERT_TRUE(client.send(server.address, "one more").has_value());
  ASSERT_TRUE(rig().run_until([&] { return server.received.back().bytes == "one more"; }));
  EXPECT_EQ(server.dropped, dropped);
  EXPECT_EQ(client.dropped, 0U);
  close(server);
  close(client);
}

TEST_P(EngineDatagram, closed_when_it_is_told_of_drops) {
  DatagramLog server(rig().engine(), EngineRig::loopback(), {.receive_buffer_bytes = 4096});
  DatagramLog client(rig().engine(), EngineRig::loopback());
  server.when_dropped = [&] { server.close(); };
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(client.send(server.address, pattern(100)).has_value());
  const auto is_closed = [&] {
    if (server.dropped == 0) {
      EXPECT_TRUE(client.send(server.address, "how many?").has_value());
    }
    return server.closed > 0;
  };
  ASSERT_TRUE(rig().run_beside(is_closed));
  EXPECT_GT(server.dropped, 0U);
  close(client);
}

TEST_P(EngineDatagram, buffers_are_as_large_as_asked) {
  constexpr int kAsked = 16 * 1024;
  DatagramLog small(rig().engine(), EngineRig::loopback(),
                    {.receive_buffer_bytes = kAsked, .send_buffer_bytes = kAsked});
  DatagramLog large(rig().engine(), EngineRig::loopback(),
                    {.receive_buffer_bytes = 4 * kAsked, .send_buffer_bytes = 2 * kAsked});
  const DatagramBuffers few = small.socket().buffers().value();
  const DatagramBuffers many = large.socket().buffers().value();
  EXPECT_GE(few.receive_bytes, kAsked);
  EXPECT_GE(few.send_bytes, kAsked);
  EXPECT_EQ(many.receive_bytes, 4 * few.receive_bytes);
  EXPECT_EQ(many.send_bytes, 2 * few.send_bytes);
  large.close();
  EXPECT_EQ(test::error_of(large.socket().buffers()), std::errc::bad_file_descriptor);
  EXPECT_TRUE(rig().run_until([&] { return large.closed > 0; }));
  close(small);
}

TEST_P(EngineDatagram, interface_that_is_not_there_is_an_error) {
  DatagramLog log(rig().engine(), EngineRig::loopback());
  for (const DatagramOptions& options :
       {DatagramOptions{.multicast_interface = "nonesuch0"}, DatagramOptions{.interface = "nonesuch0"}}) {
    EXPECT_EQ(test::error_of(rig().engine().open_datagrams(EngineRig::loopback(), options, log)),
              std::errc::no_such_device);
  }
  close(log);
}

TEST_P(EngineDatagram, shut_says_goodbye) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  EXPECT_TRUE(server.send(server.address, "to myself, never read").has_value());
  rig().shut();
  EXPECT_EQ(server.closed, 1);
}

TEST_P(EngineDatagramFile, nobody_listening_is_told_and_disturbs_no_other) {
  DatagramLog gone(rig().engine(), EngineRig::loopback());
  DatagramLog server(rig().engine(), EngineRig::loopback());
  DatagramLog client(rig().engine(), EngineRig::loopback());
  close(gone);
  EXPECT_TRUE(client.send(gone.address, "hello?").has_value());
  // The kernel has received the refusal by now. It must not make this send fail, which is to another address.
  EXPECT_TRUE(client.send(server.address, "hello!").has_value());
  ASSERT_TRUE(rig().run_until([&] { return !client.errors.empty() && !server.received.empty(); }));
  EXPECT_EQ(client.errors, std::vector<std::error_code>{std::make_error_code(std::errc::connection_refused)});
  EXPECT_EQ(server.received[0].bytes, "hello!");
  EXPECT_TRUE(server.send(client.address, "welcome").has_value());
  ASSERT_TRUE(rig().run_until([&] { return !client.received.empty(); }));
  uint64_t waits = rig().stats().waits;
  rig().settle();
  EXPECT_LE(rig().stats().waits - waits, 10U) << "the refusal keeps the engine spinning";
  close(server);
  close(client);
}

TEST_P(EngineDatagramFile, unix_path_is_taken_over_from_the_dead_and_leaves_no_file) {
  const test::TemporaryFolder folder;
  SocketAddress address = address_of("unix:" + folder.path("sock"));
  {
    Fd dead(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), address.data(), address.size()), 0);
  }
  DatagramLog server(rig().engine(), address);
  DatagramLog client(rig().engine(), address_of("unix:" + folder.path("client")));
  EXPECT_FALSE(rig().engine().open_datagrams(address, {}, server).has_value()) << "a served address was taken away";
  EXPECT_TRUE(client.send(address, "ping").has_value());
  ASSERT_TRUE(rig().run_until([&] { return !server.received.empty(); }));
  EXPECT_EQ(server.received[0].from, client.address);
  close(server);
  EXPECT_EQ(test::error_of(client.send(address, "ping")), std::errc::no_such_file_or_directory);
  close(client);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path(""))) << "a file was left";
}

}  // namespace
}  // namespace peal
