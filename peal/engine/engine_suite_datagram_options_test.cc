// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, options of the kernel's datagram sockets and the multicast groups that they join.
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tests/support/engines/datagram_log.h>

namespace peal {
namespace {

// Groups whose datagrams stay on this host, whatever their TTL is (RFC 2365 6.1 and, for IPv6, RFC 4291 2.7).
constexpr std::string_view kGroup = "239.255.77.1";
constexpr std::string_view kGroupV6 = "ff01::4d01";

SocketAddress at(std::string_view host, const SocketAddress& port_of) {
  SocketAddress address = address_of(std::string(host) + ":0");
  address.set_port(port_of.port());
  return address;
}

// Returns the name of an interface that is up, can multicast, has an address of the family, and is not the loopback.
std::string multicast_interface(int family) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
    if ((each->ifa_flags & (kWanted | IFF_LOOPBACK)) == kWanted) return each->ifa_name;
  }
  return {};
}

// Returns whether this process may set SO_BINDTOIFINDEX. Before Linux 5.7 it needed CAP_NET_RAW.
bool may_choose_interface() {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int loopback = static_cast<int>(::if_nametoindex("lo"));
  return ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTOIFINDEX, &loopback, sizeof loopback) == 0 || errno != EPERM;
}

// A socket of the test's own that reads the TTL of the datagrams that arrive.
class TtlReader {
 public:
  explicit TtlReader(const SocketAddress& local)
      : fd_(::socket(local.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)), family_(local.family()) {
    const int on = 1;
    const bool is_v6 = family_ == AF_INET6;
    EXPECT_EQ(::setsockopt(fd_.get(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_RECVHOPLIMIT : IP_RECVTTL, &on,
                           sizeof on),
              0);
    EXPECT_EQ(::bind(fd_.get(), local.data(), local.size()), 0);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
    address = SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&bound), size);
  }
  // Joins an IPv4 group on the loopback interface.
  void join(const SocketAddress& group) {
    group_req request{};
    request.gr_interface = ::if_nametoindex("lo");
    std::memcpy(&request.gr_group, group.data(), group.size());
    EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_IP, MCAST_JOIN_GROUP, &request, sizeof request), 0);
  }
  // Returns the TTL of the next datagram. Empty if no datagram came, or none with a TTL.
  std::optional<int> next() {
    constexpr int kMostMilliseconds = 10'000;
    pollfd asked{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&asked, 1, kMostMilliseconds) != 1) return std::nullopt;
    alignas(cmsghdr) std::array<char, 64> control;
    std::array<char, 16> bytes;
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(fd_.get(), &message, 0) < 0) return std::nullopt;
    const cmsghdr* told = CMSG_FIRSTHDR(&message);
    if (told == nullptr || told->cmsg_type != (family_ == AF_INET6 ? IPV6_HOPLIMIT : IP_TTL)) return std::nullopt;
    int ttl = 0;
    std::memcpy(&ttl, CMSG_DATA(told), sizeof ttl);
    return ttl;
  }

  SocketAddress address;

 private:
  Fd fd_;
  int family_;
};

std::vector<std::string> texts_of(const DatagramLog& log) {
  std::vector<std::string> texts;
  for (const DatagramLog::Datagram& each : log.received) texts.push_back(each.bytes);
  return texts;
}

class EngineDatagramOptions : public DatagramTest {
 protected:
  testing::AssertionResult receives(DatagramLog& log, size_t count) {
    return rig().run_until([&log, count] { return log.received.size() == count; });
  }
  // Expects that the member receives what is sent to the group by `interface` only between its join() and its leave().
  void expect_heard_while_joined(const std::string& group_host, const std::string& any, const std::string& interface) {
    DatagramLog member(rig().engine(), address_of(any));
    DatagramLog sender(rig().engine(), address_of(any), {.multicast_ttl = 0, .multicast_interface = interface});
    const SocketAddress group = at(group_host, member.address);
    const SocketAddress own = at(group.family() == AF_INET6 ? "[::1]" : "127.0.0.1", member.address);
    EXPECT_TRUE(sender.send(group, "before").has_value());
    ASSERT_TRUE(member.socket().join(group, interface).has_value());
    EXPECT_TRUE(sender.send(group, "between").has_value());
    ASSERT_TRUE(receives(member, 1));
    ASSERT_TRUE(member.socket().leave(group, interface).has_value());
    EXPECT_TRUE(sender.send(group, "after").has_value());
    EXPECT_TRUE(sender.send(own, "to it alone").has_value());
    ASSERT_TRUE(receives(member, 2));
    EXPECT_EQ(texts_of(member), (std::vector<std::string>{"between", "to it alone"}));
    close(member);
    close(sender);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineDatagramOptions, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineDatagramOptions, ttl_is_that_of_what_is_sent) {
  std::vector<std::string> hosts{"127.0.0.1:0"};
  if (has_ipv6_loopback()) hosts.emplace_back("[::1]:0");
  for (const std::string& host : hosts) {
    TtlReader reader(address_of(host));
    DatagramLog plain(rig().engine(), address_of(host));
    DatagramLog near(rig().engine(), address_of(host), {.ttl = 5});
    EXPECT_TRUE(near.send(reader.address, "five").has_value());
    EXPECT_EQ(reader.next(), 5) << host;
    EXPECT_TRUE(plain.send(reader.address, "more").has_value());
    EXPECT_GT(reader.next().value_or(0), 5) << host;
    close(plain);
    close(near);
  }
}

TEST_P(EngineDatagramOptions, ttl_of_an_ipv6_socket_holds_for_mapped_addresses) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "there is no IPv6 here";
  TtlReader reader(EngineRig::loopback());
  DatagramLog near(rig().engine(), address_of("[::]:0"), {.ttl = 5});
  EXPECT_TRUE(near.send(at("[::ffff:127.0.0.1]", reader.address), "five").has_value());
  EXPECT_EQ(reader.next(), 5);
  close(near);
}

TEST_P(EngineDatagramOptions, multicast_ttl_is_that_of_what_is_sent_to_groups) {
  TtlReader reader(address_of("0.0.0.0:0"));
  const SocketAddress group = at(kGroup, reader.address);
  reader.join(group);
  DatagramLog far(rig().engine(), EngineRig::loopback(), {.multicast_ttl = 9, .multicast_interface = "lo"});
  DatagramLog near(rig().engine(), EngineRig::loopback(), {.ttl = 5, .multicast_interface = "lo"});
  EXPECT_TRUE(far.send(group, "nine").has_value());
  EXPECT_EQ(reader.next(), 9);
  EXPECT_TRUE(near.send(group, "one").has_value());
  EXPECT_EQ(reader.next(), 1);
  close(far);
  close(near);
}

TEST_P(EngineDatagramOptions, number_out_of_range_is_an_error) {
  DatagramLog log(rig().engine(), EngineRig::loopback());
  for (const DatagramOptions& options :
       {DatagramOptions{.ttl = 256}, DatagramOptions{.ttl = -1}, DatagramOptions{.multicast_ttl = 256},
        DatagramOptions{.multicast_ttl = -1}, DatagramOptions{.receive_buffer_bytes = -1},
        DatagramOptions{.send_buffer_bytes = -1}}) {
    EXPECT_EQ(test::error_of(rig().engine().open_datagrams(EngineRig::loopback(), options, log)),
              std::errc::invalid_argument);
  }
  close(log);
}

TEST_P(EngineDatagramOptions, broadcast_needs_the_option) {
  DatagramLog receiver(rig().engine(), address_of("0.0.0.0:0"));
  DatagramLog plain(rig().engine(), EngineRig::loopback());
  DatagramLog loud(rig().engine(), EngineRig::loopback(), {.broadcast = true});
  const SocketAddress everybody = at("127.255.255.255", receiver.address);
  EXPECT_EQ(test::error_of(plain.send(everybody, "hello")), std::errc::permission_denied);
  EXPECT_TRUE(loud.send(everybody, "hello, all").has_value());
  ASSERT_TRUE(receives(receiver, 1));
  EXPECT_EQ(receiver.received[0].bytes, "hello, all");
  close(receiver);
  close(plain);
  close(loud);
}

TEST_P(EngineDatagramOptions, group_is_heard_between_join_and_leave) {
  expect_heard_while_joined(std::string(kGroup), "0.0.0.0:0", "lo");
}

TEST_P(EngineDatagramOptions, ipv6_group_is_heard_between_join_and_leave) {
  const std::string interface = multicast_interface(AF_INET6);
  if (interface.empty() || !has_ipv6_loopback()) GTEST_SKIP() << "no interface here takes IPv6 multicast";
  expect_heard_while_joined("[" + std::string(kGroupV6) + "]", "[::]:0", interface);
}

TEST_P(EngineDatagramOptions, scope_of_an_ipv6_group_is_its_interface) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "there is no IPv6 here";
  DatagramLog log(rig().engine(), address_of("[::]:0"));
  // Without the scope the routing table would choose the interface, and it never chooses the loopback for multicast.
  const SocketAddress scoped = address_of("[ff02::4d01%lo]:0");
  const SocketAddress plain = address_of("[ff02::4d01]:0");
  EXPECT_TRUE(log.socket().join(scoped, "").has_value());
  EXPECT_EQ(test::error_of(log.socket().join(plain, "lo")), std::errc::address_in_use);
  EXPECT_TRUE(log.socket().leave(plain, "lo").has_value());
  EXPECT_EQ(test::error_of(log.socket().leave(scoped, "")), std::errc::address_not_available);
  close(log);
}

TEST_P(EngineDatagramOptions, sockets_of_one_address_hear_the_groups_they_joined_themselves) {
  DatagramLog one(rig().engine(), address_of("0.0.0.0:0"), {.reuse_address = true});
  EXPECT_EQ(test::error_of(rig().engine().open_datagrams(one.address, {}, one)), std::errc::address_in_use);
  DatagramLog two(rig().engine(), one.address, {.reuse_address = true});
  DatagramLog sender(rig().engine(), EngineRig::loopback(), {.multicast_interface = "lo"});
  const SocketAddress group = at(kGroup, one.address);
  ASSERT_TRUE(one.socket().join(group, "lo").has_value());
  EXPECT_TRUE(sender.send(group, "for one").has_value());
  ASSERT_TRUE(receives(one, 1));
  ASSERT_TRUE(two.socket().join(group, "lo").has_value());
  EXPECT_TRUE(sender.send(group, "for both").has_value());
  ASSERT_TRUE(receives(one, 2));
  ASSERT_TRUE(receives(two, 1));
  EXPECT_EQ(texts_of(two), std::vector<std::string>{"for both"});
  close(one);
  close(two);
  close(sender);
}

TEST_P(EngineDatagramOptions, without_the_loop_this_host_does_not_hear_itself) {
  const std::string interface = multicast_interface(AF_INET);
  if (interface.empty()) GTEST_SKIP() << "no interface here but the loopback takes multicast";
  DatagramLog member(rig().engine(), address_of("0.0.0.0:0"));
  const DatagramOptions loud{.multicast_ttl = 0, .multicast_interface = interface};
  const DatagramOptions silent{.multicast_ttl = 0, .multicast_loop = false, .multicast_interface = interface};
  DatagramLog heard(rig().engine(), address_of("0.0.0.0:0"), loud);
  DatagramLog unheard(rig().engine(), address_of("0.0.0.0:0"), silent);
  const SocketAddress group = at(kGroup, member.address);
  ASSERT_TRUE(member.socket().join(group, interface).has_value());
  EXPECT_TRUE(unheard.send(group, "unheard").has_value());
  EXPECT_TRUE(heard.send(group, "heard").has_value());
  ASSERT_TRUE(rig().run_until([&] { return !member.received.empty(); }));
  EXPECT_EQ(texts_of(member), std::vector<std::string>{"heard"});
  close(member);
  close(heard);
  close(unheard);
}

TEST_P(EngineDatagramOptions, socket_of_one_interface_hears_no_other) {
  const std::string interface = multicast_interface(AF_INET);
  if (interface.empty()) GTEST_SKIP() << "there is no interface here but the loopback";
  if (!may_choose_interface()) GTEST_SKIP() << "choosing an interface needs CAP_NET_RAW here";
  DatagramLog sender(rig().engine(), EngineRig::loopback());
  DatagramLog here(rig().engine(), address_of("0.0.0.0:0"), {.interface = "lo"});
  DatagramLog elsewhere(rig().engine(), address_of("0.0.0.0:0"), {.interface = interface});
  EXPECT_TRUE(sender.send(at("127.0.0.1", here.address), "hello").has_value());
  EXPECT_TRUE(sender.send(at("127.0.0.1", elsewhere.address), "hello").has_value());
  // No socket has that port on the loopback, so the datagram is refused.
  ASSERT_TRUE(rig().run_until([&] { return !here.received.empty() && !sender.errors.empty(); }));
  EXPECT_EQ(sender.errors[0], std::errc::connection_refused);
  EXPECT_TRUE(elsewhere.received.empty());
  close(sender);
  close(here);
  close(elsewhere);
}

TEST_P(EngineDatagramOptions, groups_that_cannot_be_joined_or_left_are_errors) {
  DatagramLog log(rig().engine(), address_of("0.0.0.0:0"));
  Datagrams& socket = log.socket();
  const SocketAddress group = address_of(std::string(kGroup) + ":0");
  EXPECT_EQ(test::error_of(socket.join(EngineRig::loopback(), "lo")), std::errc::invalid_argument);
  EXPECT_EQ(test::error_of(socket.join(group, "nonesuch0")), std::errc::no_such_device);
  EXPECT_EQ(test::error_of(socket.join(group, std::string(100, 'x'))), std::errc::no_such_device);
  EXPECT_EQ(test::error_of(socket.join(address_of("[ff01::4d01]:0"), "lo")), std::errc::address_family_not_supported);
  EXPECT_EQ(test::error_of(socket.join(SocketAddress(), "lo")), std::errc::address_family_not_supported);
  EXPECT_EQ(test::error_of(socket.leave(group, "lo")), std::errc::address_not_available);
  ASSERT_TRUE(socket.join(group, "lo").has_value());
  EXPECT_EQ(test::error_of(socket.join(group, "lo")), std::errc::address_in_use);
  log.close();
  EXPECT_EQ(test::error_of(socket.join(group, "lo")), std::errc::bad_file_descriptor);
  EXPECT_EQ(test::error_of(socket.leave(group, "lo")), std::errc::bad_file_descriptor);
  EXPECT_TRUE(rig().run_until([&] { return log.closed > 0; }));
}

TEST_P(EngineDatagramOptions, unix_socket_has_buffers_and_nothing_else) {
  const SocketAddress address = address_of("unix:@peal-datagram-options-" + std::to_string(::getpid()));
  DatagramLog log(rig().engine(), address, {.receive_buffer_bytes = 16 * 1024, .send_buffer_bytes = 16 * 1024});
  EXPECT_GE(log.socket().buffers().value().send_bytes, 16 * 1024);
  const SocketAddress group = address_of(std::string(kGroup) + ":0");
  EXPECT_EQ(test::error_of(log.socket().join(group, "lo")), std::errc::operation_not_supported);
  EXPECT_EQ(test::error_of(log.socket().leave(group, "lo")), std::errc::operation_not_supported);
  close(log);
  const std::vector<DatagramOptions> refused{
      {.reuse_address = true},   {.broadcast = true},           {.ttl = 5},          {.multicast_ttl = 5},
      {.multicast_loop = false}, {.multicast_interface = "lo"}, {.interface = "lo"},
  };
  for (const DatagramOptions& options : refused) {
    EXPECT_EQ(test::error_of(rig().engine().open_datagrams(address, options, log)), std::errc::operation_not_supported);
  }
}

}  // namespace
}  // namespace peal
