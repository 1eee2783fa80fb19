// SPDX-License-Identifier: BSD-3-Clause
// resolv.conf was read only once in a resolver's life (c-ares#324). A machine may get other name servers: a laptop in
// another network, a VPN, DHCP. After that, a long-lived client asked the dead servers for ever, while a new process
// found all names. glibc has read the file again since 2.26. Now a lookup that begins after the change uses the new
// file. Lookups under way are answered by the servers that they asked. A file that is missing for a moment changes
// nothing.
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>

#include <peal/net/resolver.h>
#include <tests/support/dns/dns_script.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class ResolvConfThatChanges : public test::NetTest {
 protected:
  void TearDown() override {
    resolver.reset();
    first.reset();
    second.reset();
    NetTest::TearDown();
  }
  // Replaces the file by another one, as resolvconf(8) does.
  void write(const std::string& text) const { folder.write("resolv.conf", text); }
  // Makes a resolver that asks one name server, whatever the file says about name servers.
  void start(const std::string& text) {
    write(text);
    first.emplace();
    resolver.emplace(loop(),
                     ResolverOptions{.servers = first->server(), .resolv_conf = path, .try_timeout = seconds(60)});
  }
  // Makes a resolver that asks the first of two name servers. resolv.conf(5) has no ports, so both listen on port 53.
  // Returns false if that is not allowed.
  bool start_with_two() {
    const std::string network = "127.77." + std::to_string(::getpid() / 250 % 250) + ".";
    const int host = 1 + ::getpid() % 125 * 2;
    const auto at = [&](int offset) { return network + std::to_string(host + offset); };
    first.emplace(SocketAddress::parse(at(0) + ":53").value());
    second.emplace(SocketAddress::parse(at(1) + ":53").value());
    if (!first->is_open() || !second->is_open()) return false;
    to_second = "# moved\nnameserver " + at(1) + "\n";
    write("nameserver " + at(0) + "\n");
    resolver.emplace(loop(), ResolverOptions{.resolv_conf = path, .try_timeout = seconds(60)});
    return true;
  }
  void look_up(const std::string& name) {
    ask([&] {
      EXPECT_TRUE(resolver->resolve(name, 1, {.timeout = seconds(60)}, [this, name](auto addresses) {
        journal.add(name + " " + (addresses ? addresses->front().to_string() : addresses.error().message()));
      }));
    });
  }
  testing::AssertionResult told(size_t lines) {
    return wait_until([this, lines] {
      first->pump();
      if (second) second->pump();
      return journal.lines().size() >= lines;
    });
  }

  const test::TemporaryFolder folder;
  const std::string path = folder.path("resolv.conf");
  std::string to_second;
  std::optional<test::DnsScript> first;
  std::optional<test::DnsScript> second;
  std::optional<Resolver> resolver;
};

TEST_P(ResolvConfThatChanges, other_search_list) {
  start("search here.test\n");
  first->entries["host.here.test"] = {.addresses = {"192.0.2.1"}};
  first->entries["host.there.test"] = {.addresses = {"192.0.2.2"}};
  look_up("host");
  ASSERT_TRUE(told(1));
  write("search there.test\n");
  look_up("host");
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines(), ElementsAre("host 192.0.2.1:1", "host 192.0.2.2:1"));
}

TEST_P(ResolvConfThatChanges, other_name_server) {
  if (!start_with_two()) GTEST_SKIP() << "this process may not listen on port 53";
  first->entries["name.test"] = {.addresses = {"192.0.2.1"}};
  second->entries["name.test"] = {.addresses = {"192.0.2.2"}};
  look_up("name.test");
  ASSERT_TRUE(told(1));
  write(to_second);
  look_up("name.test");
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines(), ElementsAre("name.test 192.0.2.1:1", "name.test 192.0.2.2:1"));
}

TEST_P(ResolvConfThatChanges, lookups_under_way_are_answered_by_the_server_that_they_asked) {
  if (!start_with_two()) GTEST_SKIP() << "this process may not listen on port 53";
  first->entries["slow.test"] = {.addresses = {"192.0.2.1"}};
  second->entries["name.test"] = {.addresses = {"192.0.2.2"}};
  first->hold();
  look_up("slow.test");
  ASSERT_TRUE(wait_until([&] {
    first->pump();
    return first->questions() == 2;
  }));
  write(to_second);
  look_up("name.test");
  ASSERT_TRUE(told(1));
  ask([&] { first->release(); });
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines(), ElementsAre("name.test 192.0.2.2:1", "slow.test 192.0.2.1:1"));
  EXPECT_EQ(ask([&] { return first->questions(); }), 2u);
}

TEST_P(ResolvConfThatChanges, may_be_missing_for_a_moment) {
  start("search here.test\n");
  first->entries["host.here.test"] = {.addresses = {"192.0.2.1"}};
  look_up("host");
  ASSERT_TRUE(told(1));
  std::filesystem::remove(path);
  look_up("host");
  ASSERT_TRUE(told(2));
  EXPECT_THAT(journal.lines(), ElementsAre("host 192.0.2.1:1", "host 192.0.2.1:1"));
}

// The domains of the search list are tried in turn, and the answer of a domain is taken as a whole. If one address
// family came from the first domain and the other from the second, a client could reach either of two hosts.
TEST_P(ResolvConfThatChanges, search_list_does_not_mix_the_addresses_of_two_names) {
  start("search first.test second.test\n");
  first->entries["host.first.test AAAA"] = {.addresses = {"2001:db8::1"}};
  first->entries["host.first.test A"] = {};
  first->entries["host.second.test"] = {.addresses = {"192.0.2.1"}};
  first->entries["only.second.test"] = {.addresses = {"192.0.2.3"}};
  for (size_t lines = 1; const char* name : {"host", "only", "nowhere"}) {
    look_up(name);
    ASSERT_TRUE(told(lines++));
  }
  EXPECT_THAT(journal.lines(), ElementsAre("host [2001:db8::1]:1", "only 192.0.2.3:1",
                                           "nowhere " + make_error_code(Trouble::kHostNotFound).message()));
}

PEAL_TEST_ON_EVERY_ENGINE(ResolvConfThatChanges);

}  // namespace
}  // namespace peal
