// SPDX-License-Identifier: BSD-3-Clause
// Long or strange answers of name servers: their addresses are returned as they are, and connecting decides.
#include <ares.h>

#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using test::sentence;
using testing::HasSubstr;

class OddAnswersTest : public test::ResolverTest {};

TEST_P(OddAnswersTest, alias_of_an_alias) {
  std::vector<std::string> aliases;
  for (int i = 0; i < 12; ++i) aliases.push_back("c" + std::to_string(i) + ".test");
  dns->entries["chain.test A"] = {.addresses = {"192.0.2.7"}, .truncated = true, .aliases = aliases};
  dns->entries["chain.test AAAA"] = {.addresses = {"2001:db8::7"}, .aliases = {"c0.test"}};
  const std::string answer = look_up("chain.test");
  EXPECT_THAT(answer, testing::AnyOf(HasSubstr("192.0.2.7:80"), HasSubstr("[2001:db8::7]:80")));
}

TEST_P(OddAnswersTest, alias_without_an_address) {
  dns->entries["bare.test"] = {.aliases = {"c0.test"}};
  EXPECT_EQ(look_up("bare.test"), sentence(Trouble::kHostNotFound));
}

TEST_P(OddAnswersTest, answer_that_is_too_long_for_a_datagram_but_does_not_say_so) {
  test::DnsScript::Entry entry;
  for (int i = 0; i < 40; ++i) entry.addresses.push_back("192.0.2." + std::to_string(i));
  dns->entries["long.test"] = entry;
  const std::string answer = look_up("long.test");
  for (const std::string& address : entry.addresses) EXPECT_THAT(answer, HasSubstr(address + ":80"));
  // c-ares 1.34 takes the long datagram. Earlier versions ask again over TCP.
  constexpr bool kTakesLongDatagrams = ARES_VERSION >= 0x012200;
  EXPECT_EQ(ask([&] { return dns->questions_over_tcp(); }), kTakesLongDatagrams ? 0u : 1u);
}

// RFC 1035 4.2.1: a datagram may have 512 bytes: here 12 of the header, 20 for the question, and 30 records of 16.
TEST_P(OddAnswersTest, answer_that_fills_a_datagram_is_whole) {
  dns->refuse_tcp();
  test::DnsScript::Entry entry;
  for (int i = 0; i < 30; ++i) entry.addresses.push_back("192.0.2." + std::to_string(i));
  dns->entries["exactaaaa.test"] = entry;
  const std::string answer = look_up("exactaaaa.test");
  EXPECT_EQ(std::ranges::count(answer, ' '), 29) << answer;
}

TEST_P(OddAnswersTest, more_addresses_than_are_sorted) {
  test::DnsScript::Entry entry{.truncated = true};
  for (int i = 0; i < 1500; ++i) {
    entry.addresses.push_back("127.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1));
  }
  dns->entries["many.test"] = entry;
  const std::string answer = look_up("many.test");
  EXPECT_EQ(std::ranges::count(answer, ' '), 1499);
  EXPECT_TRUE(answer.starts_with("127.1.0.1:80 127.1.0.2:80 ")) << "equal ones keep their order";
  EXPECT_TRUE(answer.ends_with(" 127.1.5.250:80"));
}

TEST_P(OddAnswersTest, addresses_that_lead_to_no_host) {
  for (const char* address : {"::ffff:127.0.0.1", "fe80::1", "ff02::1", "::", "0.0.0.0", "224.0.0.1"}) {
    dns->entries["odd.test"] = {.addresses = {address}};
    const std::string text(address);
    const std::string expected = (text.contains(':') ? "[" + text + "]" : text) + ":80";
    EXPECT_EQ(look_up("odd.test"), expected);
  }
}

PEAL_TEST_ON_EVERY_ENGINE(OddAnswersTest);

}  // namespace
}  // namespace peal
