// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/socket_address.h>

#include <net/if.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/fd.h>

namespace peal {
namespace {

SocketAddress parsed(std::string_view text) {
  auto address = SocketAddress::parse(text);
  EXPECT_TRUE(address.has_value()) << text << ": " << address.error().message();
  return address.value_or(SocketAddress{});
}

TEST(SocketAddress, unset_until_told) {
  SocketAddress none;
  EXPECT_FALSE(none.is_set());
  EXPECT_FALSE(none.is_ip());
  EXPECT_FALSE(none.is_unix());
  EXPECT_EQ(none.family(), AF_UNSPEC);
  EXPECT_EQ(none.port(), 0);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.unix_path(), "");
  EXPECT_EQ(none.to_string(), "");
  EXPECT_EQ(none, SocketAddress{});
  EXPECT_NE(none, parsed("0.0.0.0:0"));
}

TEST(SocketAddress, ipv4_is_what_the_kernel_wants) {
  SocketAddress address = parsed("127.0.0.1:9981");
  EXPECT_EQ(address.family(), AF_INET);
  EXPECT_TRUE(address.is_ip());
  EXPECT_FALSE(address.is_unix());
  EXPECT_EQ(address.port(), 9981);
  ASSERT_EQ(address.size(), sizeof(sockaddr_in));
  sockaddr_in raw{};
  std::memcpy(&raw, address.data(), sizeof raw);
  EXPECT_EQ(raw.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_EQ(raw.sin_port, htons(9981));
}

TEST(SocketAddress, ipv6_is_what_the_kernel_wants) {
  SocketAddress address = parsed("[::1]:9981");
  EXPECT_EQ(address.family(), AF_INET6);
  EXPECT_TRUE(address.is_ip());
  EXPECT_EQ(address.port(), 9981);
  ASSERT_EQ(address.size(), sizeof(sockaddr_in6));
  sockaddr_in6 raw{};
  std::memcpy(&raw, address.data(), sizeof raw);
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&raw.sin6_addr));
  EXPECT_EQ(raw.sin6_scope_id, 0U);
}

TEST(SocketAddress, texts_come_back_as_they_went_in) {
  for (std::string_view text : {"0.0.0.0:0", "127.0.0.1:9981", "255.255.255.255:65535", "[::]:0", "[::1]:9981",
                                "[2001:db8::8:800:200c:417a]:80", "[::ffff:10.1.2.3]:1", "[fe80::1%lo]:9981",
                                "[ff02::1%lo]:1", "[fe80::1%4000000000]:7", "unix:/run/peal.sock", "unix:relative.sock",
                                "unix:@abstract", "unix:/with space and : and ]:1", "unix:@@"}) {
    SocketAddress address = parsed(text);
    EXPECT_EQ(address.to_string(), text);
    EXPECT_EQ(SocketAddress::from_kernel(address.data(), address.size()), address) << text;
  }
}

TEST(SocketAddress, one_address_has_one_text) {
  EXPECT_EQ(parsed("[0:0:0:0:0:0:0:1]:80").to_string(), "[::1]:80");
  EXPECT_EQ(parsed("[2001:DB8::1]:80"), parsed("[2001:db8:0::1]:80"));
  EXPECT_NE(parsed("127.0.0.1:80"), parsed("127.0.0.1:81"));
  EXPECT_NE(parsed("127.0.0.1:80"), parsed("127.0.0.2:80"));
  EXPECT_NE(parsed("127.0.0.1:80"), parsed("[::ffff:127.0.0.1]:80"));
  EXPECT_NE(parsed("[::1]:80"), parsed("[::2]:80"));
  EXPECT_NE(parsed("[fe80::1%1]:80"), parsed("[fe80::1%2]:80"));
  EXPECT_NE(parsed("unix:/a"), parsed("unix:/b"));
  EXPECT_NE(parsed("unix:/a"), parsed("unix:/ab"));
  EXPECT_NE(parsed("unix:a"), parsed("unix:@a"));
}

TEST(SocketAddress, scope_by_name_and_by_number_is_the_same) {
  unsigned loopback = ::if_nametoindex("lo");
  ASSERT_NE(loopback, 0U);
  SocketAddress by_name = parsed("[fe80::1%lo]:80");
  SocketAddress by_number = parsed("[fe80::1%" + std::to_string(loopback) + "]:80");
  EXPECT_EQ(by_name, by_number);
  EXPECT_EQ(by_number.to_string(), "[fe80::1%lo]:80");
}

TEST(SocketAddress, ports_are_decimal_and_fit) {
  EXPECT_EQ(parsed("1.2.3.4:0").port(), 0);
  EXPECT_EQ(parsed("1.2.3.4:65535").port(), 65535);
  for (std::string_view port :
       {"", "65536", "99999999999999999999", "-1", "+1", " 1", "1 ", "0x50", "1e3", "08", "00", "8o", "80\n"}) {
    for (std::string_view host : {"1.2.3.4:", "[::1]:"}) {
      auto address = SocketAddress::parse(std::string(host) + std::string(port));
      ASSERT_FALSE(address.has_value()) << host << port;
      EXPECT_EQ(address.error(), port.empty() ? Trouble::kNoPort : Trouble::kBadPort);
    }
  }
}

TEST(SocketAddress, the_error_tells_a_name_and_a_missing_host_or_port_or_a_bad_port_from_what_is_no_address) {
  const auto error_of = [](std::string_view text) { return SocketAddress::parse(text).error(); };
  for (std::string_view text : {"localhost:80", "example.org.:0", "a-b_c:1", "1.2.3.x:80"}) {
    EXPECT_EQ(error_of(text), Trouble::kNameNotAddress) << text;
  }
  for (std::string_view text : {"", "localhost", "127.0.0.1", "[::1]", "[::1]80", "localhost:"}) {
    EXPECT_EQ(error_of(text), Trouble::kNoPort) << text;
  }
  for (std::string_view text : {"80", ":80", "0", ":65535"}) {
    EXPECT_EQ(error_of(text), Trouble::kNoHost) << text;
  }
  for (std::string_view text : {"localhost:99999", "127.0.0.1:http", "[::1]:-1", "localhost:08"}) {
    EXPECT_EQ(error_of(text), Trouble::kBadPort) << text;
  }
  for (std::string_view text :
       {"*:80", "1.2.3:80", "a..b:80", "a b:80", "::1:80", "1.2.3.4:80:81", "[no]:80", "[::1:80", "[::1", "unix:"}) {
    EXPECT_EQ(error_of(text), Trouble::kBadAddress) << text;
  }
}

TEST(SocketAddress, text_that_is_no_address_is_refused) {
  using namespace std::string_view_literals;
  for (std::string_view text : {""sv,
                                ":"sv,
                                "80"sv,
                                ":80"sv,
                                "*:80"sv,
                                "localhost:80"sv,
                                "1.2.3.4"sv,
                                "1.2.3:80"sv,
                                "1.2.3.4.5:80"sv,
                                "256.1.1.1:80"sv,
                                "01.2.3.4:80"sv,
                                "0x7f.0.0.1:80"sv,
                                "1.2.3.4 :80"sv,
                                " 1.2.3.4:80"sv,
                                "1.2.3.4\0:80"sv,
                                "1.2.3.4:80\0"sv,
                                "::1:80"sv,
                                "[::1]"sv,
                                "[::1]80"sv,
                                "[::1:80"sv,
                                "::1]:80"sv,
                                "[]:80"sv,
                                "[1.2.3.4]:80"sv,
                                "[::1]]:80"sv,
                                "[[::1]]:80"sv,
                                "[:::]:80"sv,
                                "[::1\0]:80"sv,
                                "[::12345]:80"sv,
                                "[fe80::1%]:80"sv,
                                "[fe80::1%0]:80"sv,
                                "[fe80::1%no-such-if]:80"sv,
                                "[fe80::1%99999999999]:80"sv,
                                "[fe80::1%lo%lo]:80"sv,
                                "[fe80::1%lo\0]:80"sv,
                                "[::1%lo]:80"sv,
                                "[%lo]:80"sv,
                                "unix:"sv,
                                "unix:@"sv,
                                "unix"sv,
                                "UNIX:/a"sv,
                                "unix:/a\0b"sv,
                                "http://1.2.3.4:80"sv}) {
    auto address = SocketAddress::parse(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().category(), trouble_category()) << text;
  }
}

TEST(SocketAddress, random_bytes_never_do_harm) {
  std::mt19937 random(20240607);
  constexpr std::string_view kAlphabet("0123456789abcf:.[]%@/unix\0 lo-", 30);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t left = random() % 24; left > 0; --left) text += kAlphabet[random() % kAlphabet.size()];
    auto address = SocketAddress::parse(text);
    if (!address) continue;
    auto again = SocketAddress::parse(address->to_string());
    ASSERT_TRUE(again.has_value()) << text;
    EXPECT_EQ(*again, *address) << text;
  }
}

TEST(SocketAddress, client_is_an_ipv4_address_or_an_ipv6_network) {
  const auto key = [](const char* text) { return parsed(text).client_key(); };
  EXPECT_EQ(key("192.0.2.1:1"), key("192.0.2.1:2"));
  EXPECT_NE(key("192.0.2.1:1"), key("192.0.2.2:1"));
  EXPECT_EQ(key("192.0.2.1:1"), key("[::ffff:192.0.2.1]:1"));
  EXPECT_NE(key("[::ffff:192.0.2.1]:1"), key("[::ffff:192.0.2.2]:1"));
  EXPECT_EQ(key("[2001:db8:0:1::1]:1"), key("[2001:db8:0:1:ffff::2]:2"));
  EXPECT_NE(key("[2001:db8:0:1::1]:1"), key("[2001:db8:0:2::1]:1"));
  EXPECT_NE(key("0.0.0.0:1"), key("[::]:1"));
  EXPECT_EQ(key("unix:/run/one"), key("unix:@other"));
  EXPECT_EQ(key("unix:/run/one"), SocketAddress().client_key());
}

TEST(HostName, localhost_is_a_name_and_a_domain) {
  for (const char* name : {"localhost", "localhost.", "LocalHost", "app.localhost", "a.b.LOCALHOST."}) {
    EXPECT_TRUE(is_localhost(name)) << name;
  }
  for (const char* name : {"", ".", "localhos", "nolocalhost", "localhost.example", "localhost..", "127.0.0.1"}) {
    EXPECT_FALSE(is_localhost(name)) << name;
  }
}

TEST(SocketAddress, unix_path_of_107_bytes_is_the_longest) {
  std::string longest(107, 'p');
  SocketAddress address = parsed("unix:" + longest);
  EXPECT_EQ(address.unix_path(), longest);
  EXPECT_EQ(address.size(), offsetof(sockaddr_un, sun_path) + 108);
  EXPECT_EQ(address.to_string(), "unix:" + longest);
  EXPECT_EQ(parsed("unix:@" + longest).to_string(), "unix:@" + longest);
  for (std::string prefix : {"unix:", "unix:@"}) {
    auto too_long = SocketAddress::parse(prefix + longest + "p");
    ASSERT_FALSE(too_long.has_value());
    EXPECT_EQ(too_long.error(), Trouble::kPathTooLong);
  }
}

TEST(SocketAddress, abstract_name_has_no_path) {
  using namespace std::string_view_literals;
  SocketAddress address = parsed("unix:@peal");
  EXPECT_TRUE(address.is_unix());
  EXPECT_EQ(address.unix_path(), "");
  EXPECT_EQ(address.port(), 0);
  EXPECT_EQ(address.size(), offsetof(sockaddr_un, sun_path) + 5);
  SocketAddress with_nul = parsed("unix:@a\0b"sv);
  EXPECT_EQ(with_nul.to_string(), "unix:@a\0b"sv);
  EXPECT_NE(with_nul, parsed("unix:@a"));
}

TEST(SocketAddress, kernel_answers_of_each_family) {
  const std::string abstract = "unix:@peal-address-test-" + std::to_string(::getpid());
  for (const std::string& text : {std::string("127.0.0.1:0"), std::string("[::1]:0"), abstract}) {
    SocketAddress address = parsed(text);
    Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(static_cast<bool>(fd));
    int bound = ::bind(fd.get(), address.data(), address.size());
    if (bound != 0 && errno == EADDRNOTAVAIL && address.family() == AF_INET6) continue;  // no IPv6 on this machine
    ASSERT_EQ(bound, 0) << text;
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    ASSERT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
    SocketAddress told = SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size);
    if (address.is_ip()) {
      EXPECT_NE(told.port(), 0);
      told.set_port(0);
    }
    EXPECT_EQ(told, address) << told.to_string();
  }
}

TEST(SocketAddress, unnamed_unix_peer) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  Fd one(pair[0]);
  Fd other(pair[1]);
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ASSERT_EQ(::getpeername(one.get(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
  SocketAddress peer = SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size);
  EXPECT_TRUE(peer.is_set());
  EXPECT_TRUE(peer.is_unix());
  EXPECT_EQ(peer.unix_path(), "");
  EXPECT_EQ(peer.to_string(), "unix:");
  EXPECT_EQ(peer, SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size));
}

TEST(SocketAddress, kernel_path_without_its_nul_is_the_same_path) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  std::memcpy(raw.sun_path, "/tmp/x", 6);
  constexpr auto kOffset = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));
  const auto* any = reinterpret_cast<const sockaddr*>(&raw);
  SocketAddress expected = parsed("unix:/tmp/x");
  EXPECT_EQ(SocketAddress::from_kernel(any, kOffset + 6), expected);
  EXPECT_EQ(SocketAddress::from_kernel(any, kOffset + 7), expected);
  EXPECT_EQ(SocketAddress::from_kernel(any, sizeof raw), expected);
  std::memset(raw.sun_path, 'q', sizeof raw.sun_path);
  EXPECT_EQ(SocketAddress::from_kernel(any, sizeof raw + 1).unix_path(), std::string(108, 'q'));
}

TEST(SocketAddress, what_says_nothing_of_who_it_is_makes_no_difference) {
  sockaddr_in v4 = reinterpret_cast<const sockaddr_in&>(*parsed("127.0.0.1:9981").data());
  std::memset(v4.sin_zero, 1, sizeof v4.sin_zero);
  EXPECT_EQ(SocketAddress::from_kernel(reinterpret_cast<const sockaddr*>(&v4), sizeof v4), parsed("127.0.0.1:9981"));
  sockaddr_in6 v6 = reinterpret_cast<const sockaddr_in6&>(*parsed("[::1]:9981").data());
  v6.sin6_flowinfo = 7;
  EXPECT_EQ(SocketAddress::from_kernel(reinterpret_cast<const sockaddr*>(&v6), sizeof v6), parsed("[::1]:9981"));
}

TEST(SocketAddress, file_named_like_an_abstract_name_stays_a_file) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  std::memcpy(raw.sun_path, "@file", 6);
  SocketAddress file = SocketAddress::from_kernel(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
  EXPECT_EQ(file.to_string(), "unix:./@file");
  EXPECT_EQ(parsed(file.to_string()).unix_path(), "./@file");
}

TEST(SocketAddress, kernel_answers_that_are_none) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  const auto* any = reinterpret_cast<const sockaddr*>(&raw);
  EXPECT_FALSE(SocketAddress::from_kernel(nullptr, 0).is_set());
  EXPECT_FALSE(SocketAddress::from_kernel(any, 0).is_set());
  EXPECT_FALSE(SocketAddress::from_kernel(any, sizeof raw - 1).is_set());
  EXPECT_TRUE(SocketAddress::from_kernel(any, sizeof raw).is_set());
  raw.sin6_family = AF_NETLINK;
  EXPECT_FALSE(SocketAddress::from_kernel(any, sizeof raw).is_set());
}

TEST(SocketAddress, port_can_be_set) {
  for (std::string_view text : {"127.0.0.1:0", "[::1]:0"}) {
    SocketAddress address = parsed(text);
    address.set_port(9981);
    EXPECT_EQ(address.port(), 9981);
    EXPECT_EQ(address, parsed(std::string(text.substr(0, text.size() - 1)) + "9981"));
  }
}

TEST(SocketAddress, port_of_a_unix_address_cannot_be_set) {
  EXPECT_THROW(parsed("unix:/a").set_port(1), std::invalid_argument);
}

}  // namespace
}  // namespace peal
