// SPDX-License-Identifier: BSD-3-Clause
// Clients that connect by name: the lookup, the race between the addresses, and the connections that lose it.
#include <gmock/gmock.h>

#include <peal/engine/listening_socket.h>
#include <peal/net/client.h>
#include <tests/support/dns/resolver_rig.h>
#include <tests/support/sealed/sealed_port.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClientNameTest : public test::ResolverTest {
 protected:
  void SetUp() override {
    ResolverTest::SetUp();
    if (!IsSkipped()) server = serve(test::echoing());
  }
  void TearDown() override {
    server.reset();
    ResolverTest::TearDown();
  }

  ClientOptions by_script() {
    ClientOptions options;
    options.connect_timeout = seconds(30);
    options.resolver = &*resolver;
    return options;
  }
  std::string at_port(const std::string& name) const { return name + ":" + std::to_string(address().port()); }
  // Returns callbacks that note the address that was reached.
  ConnectionCallbacks noting() {
    return journal.callbacks({.on_open = [this](Connection& connection) {
      journal.add("open " + connection.peer_address().value().to_string());
    }});
  }
  Client::ConnectFailed failing() {
    return [this](std::error_code error, Duration next) {
      journal.add(error.message() + (next == Client::kNoRetry ? ", no retry" : ", retry"));
    };
  }
  testing::AssertionResult told(std::string_view line) {
    return answer_until([this, line] { return journal.count(line) > 0; });
  }
  // Listens at the server's port of another loopback address, with a full backlog, so that no client gets an answer.
  void stop_up(const std::string& host) {
    const SocketAddress there = address_of(at_port(host));
    stopped_up_ = open_listening_socket(there, {.backlog = 0}).value();
    fills_the_backlog_.emplace();
    fills_the_backlog_->connect(there);
  }
  void open_up() {
    stopped_up_.reset();
    fills_the_backlog_.reset();
  }

  std::unique_ptr<Server> server;

 private:
  Fd stopped_up_;
  std::optional<RawPeer> fills_the_backlog_;
};

const std::string kNotFound = make_error_code(Trouble::kHostNotFound).message();

TEST_P(ClientNameTest, connects_by_name) {
  dns->entries["echo.test"] = {.addresses = {"127.0.0.1"}};
  Client client(loop(), noting(), by_script(), failing());
  ASSERT_TRUE(client.connect(at_port("echo.test")));
  ASSERT_TRUE(told("open " + address().to_string()));
  EXPECT_EQ(journal.lines().size(), 1u);
}

TEST_P(ClientNameTest, connects_by_a_name_of_the_hosts_file_with_a_resolver_of_its_own) {
  Client client(loop(), noting(), {}, failing());
  ASSERT_TRUE(client.connect(at_port("localhost")));
  // ::1, where nobody listens, may come first.
  ASSERT_TRUE(told("open " + address().to_string()));
}

TEST_P(ClientNameTest, name_that_nobody_has) {
  Client client(loop(), noting(), by_script(), failing());
  ASSERT_TRUE(client.connect("nowhere.test:80"));
  ASSERT_TRUE(told(kNotFound + ", no retry"));
  EXPECT_TRUE(client.connect("nowhere.test:80")) << "it gave up, so it may be started";
}

TEST_P(ClientNameTest, every_attempt_looks_the_name_up_anew) {
  ClientOptions options = by_script();
  options.retry = {.attempts = 0, .first_delay = milliseconds(1), .longest_delay = milliseconds(2)};
  Client client(loop(), noting(), options, failing());
  ASSERT_TRUE(client.connect(at_port("later.test")));
  ASSERT_TRUE(told(kNotFound + ", retry"));
  ask([&] { dns->entries["later.test"] = {.addresses = {"127.0.0.1"}}; });
  ASSERT_TRUE(told("open " + address().to_string()));
}

TEST_P(ClientNameTest, address_that_refuses_hands_on_to_the_next_at_once) {
  dns->entries["two.test"] = {.addresses = {"127.0.0.3", "127.0.0.1"}};
  ClientOptions options = by_script();
  options.race.attempt_delay = seconds(60);
  Client client(loop(), noting(), options, failing());
  ASSERT_TRUE(client.connect(at_port("two.test")));
  ASSERT_TRUE(told("open " + address().to_string()));
  EXPECT_EQ(journal.lines().size(), 1u) << "one attempt, which succeeded";
  EXPECT_EQ(client.stats().connect_failed, 1u);
}

TEST_P(ClientNameTest, address_that_does_not_answer_is_overtaken_and_closed) {
  stop_up("127.0.0.2");
  dns->entries["two.test"] = {.addresses = {"127.0.0.2", "127.0.0.1"}};
  ClientOptions options = by_script();
  options.race.attempt_delay = milliseconds(5);
  Client client(loop(), noting(), options, failing());
  ASSERT_TRUE(client.connect(at_port("two.test")));
  ASSERT_TRUE(told("open " + address().to_string()));
  ASSERT_TRUE(wait_until([&] { return client.stats().connect_failed == 1; })) << "the loser is closed";
  EXPECT_EQ(journal.lines().size(), 1u);
  open_up();
}

TEST_P(ClientNameTest, one_at_a_time_waits_for_the_first_to_fail) {
  stop_up("127.0.0.2");
  dns->entries["two.test"] = {.addresses = {"127.0.0.2", "127.0.0.1"}};
  ClientOptions options = by_script();
  options.connect_timeout = milliseconds(50);
  options.race = {.attempt_delay = milliseconds(1), .most_at_once = 1};
  const std::string no_answer = make_error_code(Trouble::kNoAnswer).message() + ", no retry";
  // On a busy machine the lookup may use up all the time; then the test tries again with more.
  do {
    journal.clear();
    options.connect_timeout *= 2;
    Client client(loop(), noting(), options, failing());
    ASSERT_TRUE(client.connect(at_port("two.test")));
    ASSERT_TRUE(answer_until([&] { return !journal.lines().empty(); }));
  } while (journal.count(no_answer) == 1);
  EXPECT_EQ(journal.lines(), std::vector{errno_code(ETIMEDOUT).message() + ", no retry"});
  open_up();
}

TEST_P(ClientNameTest, all_addresses_fail) {
  dns->entries["dead.test"] = {.addresses = {"127.0.0.3", "127.0.0.4", "127.0.0.5"}};
  Client client(loop(), noting(), by_script(), failing());
  ASSERT_TRUE(client.connect(at_port("dead.test")));
  ASSERT_TRUE(told("Connection refused, no retry"));
  EXPECT_EQ(journal.lines().size(), 1u);
  EXPECT_EQ(client.stats().connect_failed, 3u);
}

TEST_P(ClientNameTest, deadline_covers_the_lookup) {
  dns->entries["mute.test"] = {.mute = true};
  ClientOptions options = by_script();
  options.connect_timeout = milliseconds(20);
  Client client(loop(), noting(), options, failing());
  ASSERT_TRUE(client.connect("mute.test:80"));
  ASSERT_TRUE(told(make_error_code(Trouble::kNoAnswer).message() + ", no retry"));
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 0u);
}

// Connects over a layer, which is given the name of the host.
class ClientHostTest : public ClientNameTest {
 protected:
  void SetUp() override {
    ClientNameTest::SetUp();
    if (IsSkipped()) return;
    ServerOptions over;
    over.connection.layer = &layer;
    server = serve(test::echoing(), over);
  }
  ClientOptions over_layer() {
    ClientOptions options = by_script();
    options.connection.layer = &layer;
    return options;
  }
  // Returns callbacks that note the name that the layer was given.
  ConnectionCallbacks naming() {
    return {.on_open = [this](Connection& connection) {
      const Result<LayerFacts> facts = connection.layer_facts();
      journal.add("to " + (facts ? facts->peer : facts.error().message()));
    }};
  }

  const test::SealedLayer layer;
};

TEST_P(ClientHostTest, is_the_name_connected_to) {
  dns->entries["echo.test"] = {.addresses = {"127.0.0.1"}};
  Client client(loop(), naming(), over_layer(), failing());
  ASSERT_TRUE(client.connect(at_port("echo.test")));
  ASSERT_TRUE(told("to echo.test"));
  client.stop();
  dns->entries["other.test"] = {.addresses = {"127.0.0.1"}};
  ASSERT_TRUE(client.connect(at_port("other.test")));
  ASSERT_TRUE(told("to other.test"));
  client.stop();
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(told("to "));
}

TEST_P(ClientHostTest, is_the_one_that_was_asked_for) {
  dns->entries["echo.test"] = {.addresses = {"127.0.0.1"}};
  ClientOptions options = over_layer();
  options.connect.host = "example.org";
  Client client(loop(), naming(), options, failing());
  ASSERT_TRUE(client.connect(at_port("echo.test")));
  ASSERT_TRUE(told("to example.org"));
}

TEST_P(ClientHostTest, is_kept_through_a_race_and_retries) {
  stop_up("127.0.0.2");
  dns->entries["two.test"] = {.addresses = {"127.0.0.2", "127.0.0.1"}};
  ClientOptions options = over_layer();
  options.retry = {.attempts = 0, .first_delay = milliseconds(1), .longest_delay = milliseconds(2)};
  options.race.attempt_delay = milliseconds(5);
  Client client(loop(), naming(), options, failing());
  ASSERT_TRUE(client.connect(at_port("two.test")));
  ASSERT_TRUE(told("to two.test"));
  Client later(loop(), naming(), options, failing());
  ASSERT_TRUE(later.connect(at_port("later.test")));
  ASSERT_TRUE(told(kNotFound + ", retry"));
  ask([&] { dns->entries["later.test"] = {.addresses = {"127.0.0.1"}}; });
  ASSERT_TRUE(told("to later.test"));
  open_up();
}

PEAL_TEST_ON_EVERY_ENGINE(ClientHostTest);

TEST_P(ClientNameTest, dies_in_the_middle_of_a_race) {
  stop_up("127.0.0.2");
  dns->entries["slow.test"] = {.addresses = {"127.0.0.2"}};
  std::optional<Client> client;
  client.emplace(loop(), noting(), by_script(), failing());
  ASSERT_TRUE(client->connect(at_port("slow.test")));
  ASSERT_TRUE(answer_until([&] { return resolver->stats().answered == 1; }));
  client.reset();
  open_up();
  EXPECT_TRUE(journal.lines().empty());
}

TEST_P(ClientNameTest, dies_after_its_loop_ended_while_it_looked_up) {
  dns->entries["mute.test"] = {.mute = true};
  Client client(loop(), noting(), by_script(), failing());
  ASSERT_TRUE(client.connect("mute.test:80"));
  ask([] {});
  end_loop();
  EXPECT_TRUE(journal.lines().empty());
}

PEAL_TEST_ON_EVERY_PORT(ClientNameTest);

}  // namespace
}  // namespace peal
