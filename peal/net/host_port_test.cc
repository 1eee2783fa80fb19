// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/host_port.h>

#include <gtest/gtest.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

TEST(HostPort, is_never_a_unix_socket) {
  for (const char* host : {"unix", "unix.example"}) {
    const auto literal = HostPort(host, 8080).literal();
    ASSERT_TRUE(literal) << host;
    EXPECT_FALSE(literal->is_set()) << "a name to be looked up";
  }
  for (const char* host : {"unix:", "unix:/run/x", "unix:@x", "@x", "[", "[]", "a/b"}) {
    EXPECT_EQ(test::error_of(HostPort(host, 8080).literal()), make_error_code(Trouble::kBadAddress)) << host;
  }
  EXPECT_EQ(test::error_of(HostPort("", 8080).literal()), make_error_code(Trouble::kNoHost));
  for (const char* host : {"::1", "[::1]"}) EXPECT_EQ(HostPort(host, 80).literal()->to_string(), "[::1]:80");
  EXPECT_EQ(HostPort("192.0.2.1", 80).literal()->to_string(), "192.0.2.1:80");
}

TEST(HostPort, is_a_name_and_a_port_and_nothing_else) {
  const auto both = HostPort::parse("Example.org:8080");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->host, "Example.org");
  EXPECT_EQ(both->port, 8080);
  for (const char* text : {"", "example.org"}) {
    EXPECT_EQ(test::error_of(HostPort::parse(text)), make_error_code(Trouble::kNoPort)) << text;
  }
  for (const char* text : {"example.org:", "example.org:65536", "example.org:-1", "a:8 ", "example.org:http"}) {
    EXPECT_EQ(test::error_of(HostPort::parse(text)), make_error_code(Trouble::kBadPort)) << text;
  }
  for (const char* text : {":80", "80"}) {
    EXPECT_EQ(test::error_of(HostPort::parse(text)), make_error_code(Trouble::kNoHost)) << text;
  }
  for (const char* text : {":http", "127.0.0.300:80", "a:b:80"}) {
    EXPECT_EQ(test::error_of(HostPort::parse(text)), make_error_code(Trouble::kBadAddress)) << text;
  }
}

}  // namespace
}  // namespace peal
