// SPDX-License-Identifier: BSD-3-Clause
// The answer for one name did not fit into a datagram, the TCP connection for it failed, and every other lookup of the
// resolver failed too. All questions shared one channel of c-ares. If one socket of a server has an error, c-ares
// closes all sockets of this server, also those of UDP, and counts a try for each open question. Anybody who could
// choose a name, for example a client of a proxy, made the lookups of all others fail.
#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using test::sentence;
using testing::ElementsAre;

class TruncatedAnswerOfAnother : public test::ResolverTest {
 protected:
  // The answer to "victim.test" is on its way while "long.test" is asked, whose TCP connection fails. Expects that the
  // lookup of "victim.test" succeeds.
  void expect_victim_is_answered() {
    dns->entries["victim.test"] = {.addresses = {"192.0.2.7"}, .late = true};
    dns->entries["long.test"] = {.addresses = {"192.0.2.8"}, .truncated = true};
    ASSERT_TRUE(start("victim.test"));
    ASSERT_TRUE(asked(2));
    ASSERT_TRUE(start("long.test"));
    ASSERT_TRUE(told());
    EXPECT_THAT(journal.lines(), ElementsAre("long.test: " + sentence(Trouble::kNameServerFailed)));
    ask([&] { dns->release(); });
    ASSERT_TRUE(told(2));
    EXPECT_EQ(journal.lines()[1], "victim.test: 192.0.2.7:80");
    EXPECT_EQ(ask([&] { return dns->questions(); }), 4u) << "no question was asked twice";
  }
};

TEST_P(TruncatedAnswerOfAnother, tcp_is_refused) {
  dns->refuse_tcp();
  expect_victim_is_answered();
}

TEST_P(TruncatedAnswerOfAnother, tcp_is_closed) {
  dns->break_tcp("");
  expect_victim_is_answered();
}

TEST_P(TruncatedAnswerOfAnother, message_over_tcp_is_empty) {
  dns->break_tcp(std::string(2, '\0'));
  expect_victim_is_answered();
}

TEST_P(TruncatedAnswerOfAnother, other_half_of_the_same_name_is_on_its_way) {
  dns->refuse_tcp();
  dns->entries["half.test A"] = {.addresses = {"192.0.2.7"}, .late = true};
  dns->entries["half.test AAAA"] = {.addresses = {"2001:db8::1"}, .truncated = true};
  dns->entries["long.test"] = {.addresses = {"192.0.2.8"}, .truncated = true};
  ASSERT_TRUE(start("half.test"));
  EXPECT_EQ(look_up("long.test"), sentence(Trouble::kNameServerFailed));
  ask([&] { dns->release(); });
  ASSERT_TRUE(told(2));
  EXPECT_EQ(journal.lines()[1], "half.test: 192.0.2.7:80");
}

// RFC 7766 6.2.1 allows this. If all questions shared one connection, each close would count a try of the questions
// behind the first.
TEST_P(TruncatedAnswerOfAnother, server_answers_one_question_per_connection) {
  dns->answer_once_a_connection();
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "long" + std::to_string(i) + ".test";
    dns->entries[name] = {.addresses = {"192.0.2.1"}, .truncated = true};
    expected.push_back(name + ": 192.0.2.1:80");
  }
  ask([&] {
    for (const auto& [name, entry] : dns->entries) EXPECT_TRUE(resolver->resolve(name, 80, {}, noting(name)));
  });
  ASSERT_TRUE(told(40));
  EXPECT_THAT(journal.lines(), testing::UnorderedElementsAreArray(expected));
}

// A lookup whose TCP connection hung kept one of the few places as long as a try may take. Forty of them kept all
// others out for ten seconds.
TEST_P(TruncatedAnswerOfAnother, lookups_whose_tcp_hangs_make_room_for_those_that_wait) {
  constexpr int kHanging = 25;
  resolver.reset();
  resolver.emplace(loop(), ResolverOptions{.servers = dns->server(), .try_timeout = std::chrono::seconds(10)});
  const test::DnsScript::Entry hangs{.addresses = {"192.0.2.1"}, .truncated = true, .mute_over_tcp = true};
  for (int i = 0; i < kHanging; ++i) dns->entries["hangs" + std::to_string(i) + ".test"] = hangs;
  ask([&] {
    for (const auto& [name, entry] : dns->entries) EXPECT_TRUE(resolver->resolve(name, 80, {}, noting("hangs")));
  });
  ASSERT_TRUE(asked(2 * kHanging));
  dns->entries["long.test"] = {.addresses = {"192.0.2.8"}, .truncated = true};
  ASSERT_TRUE(start("long.test"));
  const std::string answer = "long.test: 192.0.2.8:80";
  ASSERT_TRUE(answer_until([&] { return journal.count(answer) > 0; }));
  const std::string given_up = "hangs: " + sentence(Trouble::kNoAnswer);
  EXPECT_THAT(journal.lines(), testing::Each(testing::AnyOf(answer, given_up)));
  EXPECT_LT(journal.lines().size(), size_t{kHanging}) << "not all that hang are given up";
}

TEST_P(TruncatedAnswerOfAnother, cancelled_while_it_is_asked_over_tcp) {
  dns->entries["long.test"] = {.addresses = {"192.0.2.8"}, .truncated = true};
  dns->entries["other.test"] = {.addresses = {"192.0.2.9"}, .truncated = true};
  dns->hold();
  const ResolveId id = start("long.test").value();
  ASSERT_TRUE(start("other.test"));
  ASSERT_TRUE(asked(4));
  ask([&] { dns->release(); });  // before told() nobody answers over TCP
  for (int turns = 0; turns < 5; ++turns) ask([] {});
  EXPECT_TRUE(ask([&] { return resolver->cancel(id); }));
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("other.test: 192.0.2.9:80"));
}

TEST_P(TruncatedAnswerOfAnother, resolver_is_destroyed_while_it_asks_over_tcp) {
  for (int i = 0; i < 40; ++i) dns->entries["long" + std::to_string(i)] = {.addresses = {"::1"}, .truncated = true};
  ask([&] {
    for (const auto& [name, entry] : dns->entries) EXPECT_TRUE(resolver->resolve(name + ".", 80, {}, noting(name)));
  });
  ASSERT_TRUE(asked(80));
  for (int turns = 0; turns < 5; ++turns) ask([] {});
  resolver.reset();
  EXPECT_LE(journal.lines().size(), 40u);
}

PEAL_TEST_ON_EVERY_ENGINE(TruncatedAnswerOfAnother);

}  // namespace
}  // namespace peal
