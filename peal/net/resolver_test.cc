// SPDX-License-Identifier: BSD-3-Clause
// Lookups against the test's own name server, which answers on the loop's thread.
#include <peal/net/resolver.h>

#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::sentence;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class ResolverTest : public test::ResolverTest {};

// c-ares takes an int of milliseconds, which holds none of these times; 0 would end each try before its answer.
TEST_P(ResolverTest, tries_that_last_for_ever_or_no_time) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  for (const Duration time : {Duration::max(), Duration(), Duration::min()}) {
    ResolverOptions options = from_script();
    options.try_timeout = time;
    options.tries = time == Duration::max() ? 1 : 20;  // each try waits twice as long
    resolver.emplace(loop(), options);
    EXPECT_EQ(look_up("four.test", Duration::max()), "192.0.2.7:80") << time.count();
  }
}

TEST_P(ResolverTest, every_lookup_asks_the_name_server) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  EXPECT_EQ(look_up("four.test"), "192.0.2.7:80");
  dns->entries["four.test"] = {.addresses = {"192.0.2.8"}};
  EXPECT_EQ(look_up("four.test"), "192.0.2.8:80") << "an answer was kept";
}

TEST_P(ResolverTest, name_with_an_ipv4_address) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  EXPECT_EQ(look_up("four.test"), "192.0.2.7:80");
  EXPECT_EQ(look_up("Four.TEST."), sentence(Trouble::kHostNotFound)) << "the script compares bytes, and saw them";
  EXPECT_EQ(stats().answered, 1u);
}

TEST_P(ResolverTest, name_with_addresses_of_both_families) {
  dns->entries["both.test"] = {.addresses = {"127.0.0.1", "127.0.0.2", "::1"}};
  ASSERT_TRUE(start("both.test"));
  ASSERT_TRUE(told());
  std::istringstream line(journal.lines()[0]);
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  EXPECT_THAT(words, UnorderedElementsAre("both.test:", "127.0.0.1:80", "127.0.0.2:80", "[::1]:80"));
}

TEST_P(ResolverTest, name_with_ipv6_addresses_alone) {
  dns->entries["six.test"] = {.addresses = {"2001:db8::7"}};
  EXPECT_EQ(look_up("six.test"), "[2001:db8::7]:80");
}

TEST_P(ResolverTest, names_that_do_not_exist_or_have_no_address) {
  dns->entries["bare.test"] = {};
  EXPECT_EQ(look_up("nowhere.test"), sentence(Trouble::kHostNotFound));
  EXPECT_EQ(look_up("bare.test"), sentence(Trouble::kHostNotFound));
  EXPECT_EQ(stats().failed, 2u);
}

TEST_P(ResolverTest, server_that_fails) {
  dns->entries["broken.test"] = {.rcode = 2};
  EXPECT_EQ(look_up("broken.test"), sentence(Trouble::kNameServerFailed));
}

TEST_P(ResolverTest, server_that_says_nothing_until_the_deadline) {
  dns->entries["mute.test"] = {.mute = true};
  EXPECT_EQ(look_up("mute.test", milliseconds(20)), sentence(Trouble::kNoAnswer));
  EXPECT_EQ(stats().timeouts, 1u);
  EXPECT_EQ(stats().failed, 1u);
}

TEST_P(ResolverTest, server_that_says_nothing_until_c_ares_gives_up) {
  dns->entries["mute.test"] = {.mute = true};
  ask([&] {
    ResolverOptions options = from_script();
    options.try_timeout = milliseconds(10);
    options.tries = 2;
    resolver.emplace(loop(), options);
  });
  EXPECT_EQ(look_up("mute.test"), sentence(Trouble::kNoAnswer));
  EXPECT_EQ(stats().timeouts, 0u);
  EXPECT_GE(ask([&] { return dns->questions(); }), 4u) << "two families, two tries";
}

TEST_P(ResolverTest, truncated_answer_comes_again_over_tcp) {
  dns->entries["long.test"] = {.addresses = {"192.0.2.1", "192.0.2.2"}, .truncated = true};
  const std::string answer = look_up("long.test");
  EXPECT_THAT(answer, testing::HasSubstr("192.0.2.1:80"));
  EXPECT_THAT(answer, testing::HasSubstr("192.0.2.2:80"));
  EXPECT_GE(ask([&] { return dns->questions_over_tcp(); }), 1u);
}

TEST_P(ResolverTest, names_of_the_hosts_file_are_asked_of_nobody) {
  std::ifstream hosts("/etc/hosts");
  std::string line;
  std::string name;
  while (std::getline(hosts, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    if (std::string found; words >> address >> found && address.find('.') != address.npos) name = found;
  }
  if (name.empty()) GTEST_SKIP() << "/etc/hosts names no IPv4 address";
  EXPECT_THAT(look_up(name), testing::EndsWith(":80"));
  EXPECT_EQ(ask([&] { return dns->questions(); }), 0u);
}

TEST_P(ResolverTest, literals_are_answered_without_asking_but_never_inside_the_call) {
  EXPECT_EQ(look_up("192.0.2.1"), "192.0.2.1:80");
  EXPECT_EQ(look_up("2001:db8::1"), "[2001:db8::1]:80");
  EXPECT_EQ(look_up("[2001:db8::1]"), "[2001:db8::1]:80");
  EXPECT_EQ(ask([&] {
              EXPECT_TRUE(resolver->resolve("127.0.0.1", 1, {}, noting("late")));
              return journal.count("late: 127.0.0.1:1");
            }),
            0u);
  ASSERT_TRUE(told(4));
  EXPECT_EQ(ask([&] { return dns->questions(); }), 0u);
}

TEST_P(ResolverTest, text_that_is_neither_name_nor_address) {
  const std::string long_label(64, 'a');
  for (const std::string text : {".", "a..b", "a b", "a:b:c", "300.1.1.1", "10.1", "a.7", "unix:", "unix:/run/there",
                                 "unix:@there", "@there", "[::1", "b\xc3\xbc.test", "a/b", long_label.c_str()}) {
    EXPECT_EQ(test::error_of(start(text)), make_error_code(Trouble::kBadAddress)) << text;
  }
  EXPECT_EQ(test::error_of(start("")), make_error_code(Trouble::kNoHost));
  EXPECT_EQ(stats().lookups, 0u);
}

TEST_P(ResolverTest, cancelled_lookup_is_never_answered) {
  dns->entries["slow.test"] = {.addresses = {"192.0.2.7"}};
  dns->entries["other.test"] = {.addresses = {"192.0.2.8"}};
  dns->hold();
  const ResolveId slow = start("slow.test").value();
  ASSERT_TRUE(start("other.test"));
  ASSERT_TRUE(asked(4));
  EXPECT_TRUE(ask([&] { return resolver->cancel(slow); }));
  EXPECT_FALSE(ask([&] { return resolver->cancel(slow); }));
  ask([&] { dns->release(); });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("other.test: 192.0.2.8:80"));
  EXPECT_EQ(stats().cancelled, 1u);
}

TEST_P(ResolverTest, cancel_at_any_time_around_the_answers_arrival) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  size_t lines = 0;
  for (size_t round = 1; round <= 30; ++round) {
    dns->hold();
    const ResolveId id = start("four.test").value();
    ASSERT_TRUE(asked(2 * round));
    ask([&] { dns->release(); });
    for (size_t turns = round % 6; turns > 0; --turns) ask([] {});
    if (!ask([&] { return resolver->cancel(id); })) ++lines;
    EXPECT_EQ(journal.lines().size(), lines);
  }
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 10; }));
  EXPECT_EQ(journal.lines().size(), lines);
}

TEST_P(ResolverTest, process_without_fds_gets_an_error) {
  EXPECT_EQ(look_up("nowhere.test"), sentence(Trouble::kHostNotFound));
  FdExhaustion famine;
  famine.fill();
  EXPECT_EQ(look_up("four.test"), sentence(Trouble::kNameServerFailed));
}

TEST_P(ResolverTest, what_a_cancelled_lookup_held_is_freed_at_once) {
  dns->entries["mute.test"] = {.mute = true};
  auto held = std::make_shared<int>(7);
  const ResolveId id = ask([&] { return *resolver->resolve("mute.test", 1, {}, [held](auto) {}); });
  EXPECT_EQ(held.use_count(), 2);
  ask([&] { resolver->cancel(id); });
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(ResolverTest, most_pending_counts_detached_ones_and_gives_them_back_with_the_last) {
  dns->entries["mute.test"] = {.mute = true};
  ask([&] {
    ResolverOptions options = from_script();
    options.most_pending = 2;
    resolver.emplace(loop(), options);
  });
  const ResolveId first = start("mute.test").value();
  const ResolveId second = start("mute.test").value();
  ASSERT_TRUE(asked(4));
  EXPECT_EQ(test::error_of(start("mute.test")), make_error_code(Trouble::kTooManyLookups));
  ask([&] { resolver->cancel(first); });
  EXPECT_EQ(test::error_of(start("mute.test")), make_error_code(Trouble::kTooManyLookups));
  ask([&] { resolver->cancel(second); });
  EXPECT_EQ(look_up("127.0.0.1"), "127.0.0.1:80");
  EXPECT_EQ(stats().refused, 2u);
}

TEST_P(ResolverTest, dies_with_lookups_pending_and_answers_on_their_way) {
  dns->entries["slow.test"] = {.addresses = {"192.0.2.7"}};
  dns->hold();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(start("slow.test"));
  ASSERT_TRUE(asked(6));
  ask([&] {
    dns->release();  // the answers are in the sockets' buffers before they close
    resolver.reset();
  });
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 20; }));
  EXPECT_TRUE(journal.lines().empty());
}

TEST_P(ResolverTest, dies_on_another_thread_while_the_loop_runs) {
  dns->entries["mute.test"] = {.mute = true};
  ASSERT_TRUE(start("mute.test"));
  resolver.reset();
  ask([] {});
  EXPECT_TRUE(journal.lines().empty());
}

TEST_P(ResolverTest, dies_inside_an_answer) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  dns->entries["mute.test"] = {.mute = true};
  ASSERT_TRUE(start("mute.test"));
  ask([&] {
    EXPECT_TRUE(resolver->resolve("four.test", 1, {}, [&](Result<Resolver::Addresses> addresses) {
      EXPECT_TRUE(addresses);
      resolver.reset();
      journal.add("gone");
    }));
  });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("gone"));
}

TEST_P(ResolverTest, outlives_its_loop_with_lookups_pending) {
  dns->entries["mute.test"] = {.mute = true};
  ASSERT_TRUE(start("mute.test"));
  ASSERT_TRUE(asked(2));
  end_loop();
  EXPECT_EQ(test::error_of(resolver->resolve("late.test", 1, {}, noting("late"))),
            make_error_code(Trouble::kLoopStopped));
  destroy_loop();
  EXPECT_EQ(resolver->pending(), 1u);
  EXPECT_TRUE(journal.lines().empty());
}

TEST_P(ResolverTest, answer_that_throws_is_survived) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  ask([&] { EXPECT_TRUE(resolver->resolve("four.test", 1, {}, [](auto) { throw std::runtime_error("not this"); })); });
  ASSERT_TRUE(answer_until([&] { return loop().stats().exceptions == 1; }));
  EXPECT_EQ(look_up("four.test"), "192.0.2.7:80");
}

TEST_P(ResolverTest, asks_again_from_inside_an_answer) {
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  ask([&] {
    EXPECT_TRUE(resolver->resolve("nowhere.test", 1, {},
                                  [&](auto) { EXPECT_TRUE(resolver->resolve("four.test", 2, {}, noting("second"))); }));
  });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("second: 192.0.2.7:2"));
}

TEST_P(ResolverTest, server_that_is_no_address) {
  ask([&] { resolver.emplace(loop(), ResolverOptions{.servers = "ns.example.org:53"}); });
  EXPECT_EQ(look_up("four.test"), sentence(Trouble::kBadAddress));
}

TEST_P(ResolverTest, nobody_listens_where_the_server_should_be) {
  ask([&] {
    dns.reset();
    dns.emplace();
    const std::string dead = dns->server();
    dns.reset();
    resolver.emplace(loop(), ResolverOptions{.servers = dead, .try_timeout = milliseconds(10), .tries = 1});
    EXPECT_TRUE(resolver->resolve("four.test", 80, {}, noting("four.test")));
  });
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  EXPECT_THAT(journal.lines()[0], testing::AnyOf("four.test: " + sentence(Trouble::kNameServerFailed),
                                                 "four.test: " + sentence(Trouble::kNoAnswer)));
}

TEST_P(ResolverTest, several_in_one_process_start_on_several_threads) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      test::LoopThread own(options());
      Resolver here(own.loop());
      std::promise<bool> found;
      test::ask(own.loop(), [&] {
        EXPECT_TRUE(here.resolve("localhost", 1, {}, [&](auto addresses) { found.set_value(addresses.has_value()); }));
      });
      EXPECT_TRUE(found.get_future().get());
    });
  }
}

PEAL_TEST_ON_EVERY_ENGINE(ResolverTest);

}  // namespace
}  // namespace peal
