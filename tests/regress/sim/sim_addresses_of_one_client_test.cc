// SPDX-License-Identifier: BSD-3-Clause
// One client with a whole IPv6 network took nearly all places of a server. max_connections_per_address counted each
// IPv6 address separately, but a client that has one address has all addresses of its /64 network. With a limit of 2,
// one client held five of six places. rate_limit already counted by /64. Now both count in the same way.
#include <gtest/gtest.h>

#include <peal/sim/sim_machine.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

struct Caller {
  Caller(SimWorld& world, std::string_view ip, const SocketAddress& server) : machine(world, ip) {
    EXPECT_TRUE(client.connect(server));
  }

  SimMachine machine;
  SimLoop loop{machine};
  bool open = false;
  Client client{*loop,
                {.on_open = [this](Connection&) { open = true; },
                 .on_close = [this](Connection&, CloseReason) { open = false; }}};
};

TEST(SimAddressesOfOneClient, ipv6_network_is_one_client) {
  SimWorld world(1);
  SimMachine machine(world, "2001:db8:5::1");
  SimLoop loop(machine);
  size_t open = 0;
  Server server(*loop, {.on_open = [&](Connection&) { ++open; }, .on_close = [&](Connection&, CloseReason) { --open; }},
                {.max_connections = 6, .max_connections_per_address = 2});
  const SocketAddress address = server.listen("[2001:db8:5::1]:0").value();
  std::vector<std::unique_ptr<Caller>> callers;
  for (const char* ip : {"2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1::3", "2001:db8:0:1:f::4"}) {
    callers.push_back(std::make_unique<Caller>(world, ip, address));
    world.run_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(open, 2u) << "all are of one /64";
  EXPECT_TRUE(callers[2]->open && callers[3]->open) << "the newest two stay";
  callers.push_back(std::make_unique<Caller>(world, "2001:db8:0:2::1", address));
  world.run_for(std::chrono::seconds(1));
  EXPECT_EQ(open, 3u) << "another network is another client";
  callers.clear();
}

}  // namespace
}  // namespace peal
