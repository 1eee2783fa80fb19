// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/happy_eyeballs.h>

#include <string>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

// Makes addresses of a text: "4a 6b" are an IPv4 and an IPv6 address, named by their letters.
std::vector<SocketAddress> addresses_of(const std::string& text) {
  std::vector<SocketAddress> addresses;
  for (size_t at = 0; at + 1 < text.size(); at += 3) {
    const std::string host = std::to_string(text[at + 1] - 'a' + 1);
    addresses.push_back(
        SocketAddress::parse(text[at] == '4' ? "192.0.2." + host + ":1" : "[2001:db8::" + host + "]:1").value());
  }
  return addresses;
}

std::string order(const std::string& text) {
  HappyEyeballs eyeballs(addresses_of(text), 99);
  std::string result;
  while (eyeballs.has_next(0)) {
    const SocketAddress address = eyeballs.next();
    const std::string host = address.to_string();
    if (!result.empty()) result += ' ';
    result += address.family() == AF_INET ? '4' : '6';
    result += static_cast<char>('a' + host[host.find(address.family() == AF_INET ? ":" : "]") - 1] - '1');
  }
  return result;
}

TEST(HappyEyeballs, families_take_turns_beginning_with_the_first) {
  EXPECT_EQ(order("6a 6b 6c 4d 4e"), "6a 4d 6b 4e 6c");
  EXPECT_EQ(order("4a 6b 6c 6d"), "4a 6b 6c 6d");
  EXPECT_EQ(order("4a 4b 4c 6d"), "4a 6d 4b 4c");
  EXPECT_EQ(order("6a 4b 6c 4d"), "6a 4b 6c 4d");
  EXPECT_EQ(order("4a 4b 6c 6d 6e 4f"), "4a 6c 4b 6d 4f 6e");
}

TEST(HappyEyeballs, one_family_keeps_its_order) {
  EXPECT_EQ(order("4a 4b 4c"), "4a 4b 4c");
  EXPECT_EQ(order("6a"), "6a");
  EXPECT_EQ(order(""), "");
}

// Addresses that were tried stay in their place; the rest begins with the other family.
TEST(HappyEyeballs, late_ones_take_turns_with_what_was_not_tried_yet) {
  HappyEyeballs eyeballs(addresses_of("4a 4b 4c"), 99);
  eyeballs.next();
  eyeballs.add(addresses_of("6d 6e"));
  for (const char* next : {"6d", "4b", "6e", "4c"}) EXPECT_EQ(eyeballs.next(), addresses_of(next).front()) << next;
  EXPECT_FALSE(eyeballs.has_next(0));
  eyeballs.add(addresses_of("4f"));
  EXPECT_EQ(eyeballs.next(), addresses_of("4f").front());
  eyeballs.add({});
  EXPECT_FALSE(eyeballs.has_next(0));
}

TEST(HappyEyeballs, no_more_at_once_than_told) {
  HappyEyeballs eyeballs(addresses_of("4a 4b 4c"), 2);
  EXPECT_TRUE(eyeballs.has_next(0));
  eyeballs.next();
  EXPECT_TRUE(eyeballs.has_next(1));
  eyeballs.next();
  EXPECT_FALSE(eyeballs.has_next(2));
  EXPECT_TRUE(eyeballs.has_next(1));
  eyeballs.next();
  EXPECT_FALSE(eyeballs.has_next(0));
}

TEST(HappyEyeballs, has_nothing_before_it_is_given_something) { EXPECT_FALSE(HappyEyeballs().has_next(0)); }

TEST(HappyEyeballsDeathTest, none_at_once_is_a_programmers_error) {
  EXPECT_DEATH(HappyEyeballs({}, 0), "none of 0 addresses would be tried");
}

}  // namespace
}  // namespace peal::detail
