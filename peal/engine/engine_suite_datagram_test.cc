// SPDX-License-Identifier: BSD-3-Clause
// The behaviour suite, datagrams: whole or not at all, from whom, and how a socket ends.
#include <filesystem>
#include <string>
#include <vector>

#include <tests/support/engine_rig.h>
#include <tests/support/files/temporary_folder.h>

namespace peal {
namespace {

class DatagramLog final : public DatagramEvents {
 public:
  struct Datagram {
    SocketAddress from;
    std::string bytes;
  };

  DatagramLog(Engine& engine, const SocketAddress& local) {
    auto opened = engine.open_datagrams(local, *this);
    EXPECT_TRUE(opened.has_value()) << local.to_string() << ": " << opened.error().message();
    socket_ = opened.value_or(nullptr);
    if (opened) address = socket_->local_address().value();
  }
  Result<void> send(const SocketAddress& to, std::string_view bytes) { return socket_->send(to, bytes); }
  void close() {
    said_goodbye_ = true;
    socket_->close();
  }

  SocketAddress address;
  std::vector<Datagram> received;
  std::vector<std::error_code> errors;
  int closed = 0;
  std::function<void()> when_received;

 private:
  void on_datagram(const SocketAddress& from, Buffer& bytes) override {
    EXPECT_FALSE(said_goodbye_);
    received.push_back({from, bytes.to_string()});
    if (when_received) when_received();
  }
  void on_datagram_error(std::error_code error) override {
    EXPECT_FALSE(said_goodbye_);
    errors.push_back(error);
  }
  void on_datagrams_closed() override { ++closed; }

  Datagrams* socket_ = nullptr;
  bool said_goodbye_ = false;
};

class EngineDatagram : public EngineTest {
 protected:
  // Must end before the rig does, unless the rig shuts first.
  void close(DatagramLog& log) {
    log.close();
    EXPECT_EQ(log.closed, 0) << "told inside the call";
    EXPECT_TRUE(rig().run_until([&] { return log.closed > 0; }));
    EXPECT_EQ(log.closed, 1);
  }
};
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
  // Its address is free again.
  DatagramLog next(rig().engine(), server.address);
  close(next);
  close(client);
  EXPECT_EQ(server.closed, 1);
}

TEST_P(EngineDatagram, address_in_use_is_an_error) {
  DatagramLog server(rig().engine(), EngineRig::loopback());
  EXPECT_EQ(test::error_of(rig().engine().open_datagrams(server.address, server)), std::errc::address_in_use);
  close(server);
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
  // The refusal is known to the socket by now, and is not this datagram's.
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
  EXPECT_FALSE(rig().engine().open_datagrams(address, server).has_value()) << "a served address was taken away";
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
