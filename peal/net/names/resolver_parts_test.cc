// SPDX-License-Identifier: BSD-3-Clause
// A name has addresses of two families, which are two questions: which part is delivered when, and how a lookup fails.
#include <functional>

#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::sentence;
using testing::ElementsAre;

class ResolverFamiliesTest : public test::ResolverTest {};

// RFC 6761 6.3.
TEST_P(ResolverFamiliesTest, localhost_and_its_domain_are_the_loopback_and_asked_of_nobody) {
  for (const char* name : {"localhost", "localhost.", "LocalHost", "app.localhost", "a.b.LOCALHOST."}) {
    dns->entries[name] = {.addresses = {"192.0.2.1"}};
    EXPECT_THAT(look_up(name),
                testing::AnyOf("127.0.0.1:80", "[::1]:80", "[::1]:80 127.0.0.1:80", "127.0.0.1:80 [::1]:80"))
        << name;
  }
  EXPECT_EQ(ask([&] { return dns->questions(); }), 0u);
  EXPECT_EQ(look_up("nolocalhost"), sentence(Trouble::kHostNotFound));
}

TEST_P(ResolverFamiliesTest, list_is_whole_where_the_caller_waits_for_it) {
  dns->entries["both.test A"] = {.addresses = {"127.0.0.1"}};
  dns->entries["both.test AAAA"] = {.addresses = {"::1"}, .late = true};
  ask([&] {
    EXPECT_TRUE(resolver->resolve("both.test", 80, {.timeout = seconds(30), .other_family_wait = Duration::max()},
                                  noting("whole")));
    EXPECT_TRUE(resolver->resolve("both.test", 80, {.timeout = seconds(30), .other_family_wait = {}}, noting("half")));
  });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("half: 127.0.0.1:80"));
  ask([&] { dns->release(); });
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines()[1], testing::AnyOf("whole: [::1]:80 127.0.0.1:80", "whole: 127.0.0.1:80 [::1]:80"));
}

TEST_P(ResolverFamiliesTest, deadline_gives_what_is_there) {
  dns->entries["half.test A"] = {.addresses = {"192.0.2.7"}};
  dns->entries["half.test AAAA"] = {.mute = true};
  ask([&] {
    EXPECT_TRUE(resolver->resolve("half.test", 80, {.timeout = milliseconds(20), .other_family_wait = Duration::max()},
                                  noting("half")));
  });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(),
              testing::Contains(testing::AnyOf("half: 192.0.2.7:80", "half: " + sentence(Trouble::kNoAnswer))));
}

TEST_P(ResolverFamiliesTest, fails_when_neither_family_has_an_address) {
  dns->entries["gone.test A"] = {.rcode = 3};
  dns->entries["gone.test AAAA"] = {};
  EXPECT_EQ(look_up("gone.test"), sentence(Trouble::kHostNotFound));
  dns->entries["unsure.test A"] = {.rcode = 3};
  dns->entries["unsure.test AAAA"] = {.rcode = 2};
  EXPECT_EQ(look_up("unsure.test"), sentence(Trouble::kNameServerFailed)) << "it may have one";
  dns->entries["unknown.test A"] = {.rcode = 3};
  dns->entries["unknown.test AAAA"] = {.mute = true};
  EXPECT_EQ(look_up("unknown.test", milliseconds(50)), sentence(Trouble::kNoAnswer));
}

PEAL_TEST_ON_EVERY_ENGINE(ResolverFamiliesTest);

class ResolverPartsTest : public test::ResolverTest {
 protected:
  ResolveId in_parts(const std::string& name) {
    return ask([&] {
      return resolver
          ->resolve_in_parts(name, 80, {.timeout = seconds(30)},
                             [this](Result<Resolver::Addresses> addresses, bool more) {
                               std::string line = more ? "more to come:" : "all:";
                               if (!addresses) line += " " + addresses.error().message();
                               for (const auto& each : addresses.value_or(Resolver::Addresses{})) {
                                 line += " " + each.to_string();
                               }
                               journal.add(line);
                               if (in_between) in_between();
                             })
          .value();
    });
  }

  std::function<void()> in_between;
};

TEST_P(ResolverPartsTest, ipv6_is_told_at_once_and_ipv4_when_it_comes) {
  dns->entries["both.test AAAA"] = {.addresses = {"::1"}};
  dns->entries["both.test A"] = {.addresses = {"127.0.0.1"}, .late = true};
  in_parts("both.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("more to come: [::1]:80"));
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 1u);
  ask([&] { dns->release(); });
  ASSERT_TRUE(told(2));
  EXPECT_EQ(journal.lines()[1], "all: 127.0.0.1:80");
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 0u);
  EXPECT_EQ(stats().answered, 1u);
}

TEST_P(ResolverPartsTest, ipv4_is_told_when_ipv6_does_not_come) {
  dns->entries["half.test A"] = {.addresses = {"127.0.0.1"}};
  dns->entries["half.test AAAA"] = {.late = true};
  in_parts("half.test");
  ASSERT_TRUE(told());
  ask([&] { dns->release(); });
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines(), ElementsAre("more to come: 127.0.0.1:80", "all:"));
}

TEST_P(ResolverPartsTest, error_comes_alone) {
  in_parts("nowhere.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("all: " + sentence(Trouble::kHostNotFound)));
}

TEST_P(ResolverPartsTest, ends_inside_its_first_part) {
  dns->entries["both.test AAAA"] = {.addresses = {"::1"}};
  dns->entries["both.test A"] = {.mute = true};
  ResolveId id{};
  in_between = [&] { EXPECT_TRUE(resolver->cancel(id)); };
  dns->hold();
  id = in_parts("both.test");
  ASSERT_TRUE(asked(2));
  ask([&] { dns->release(); });
  ASSERT_TRUE(told());
  EXPECT_EQ(stats().cancelled, 1u);
  in_between = [&] { resolver.reset(); };
  in_parts("both.test");
  ASSERT_TRUE(told(2));
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 10; }));
  EXPECT_THAT(journal.lines(), ElementsAre("more to come: [::1]:80", "more to come: [::1]:80"));
}

PEAL_TEST_ON_EVERY_ENGINE(ResolverPartsTest);

}  // namespace
}  // namespace peal
