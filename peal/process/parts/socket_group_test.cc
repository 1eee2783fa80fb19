// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/socket_group.h>

#include <unistd.h>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

TEST(SocketGroup, inherited_sockets_are_grouped_by_their_address) {
  const SocketAddress any_port = SocketAddress::parse("127.0.0.1:0").value();
  SocketGroup one = SocketGroup::open("one", any_port, {}).value();
  SocketGroup two = SocketGroup::open("two", any_port, {}).value();
  ASSERT_TRUE(one.provide(2));
  std::vector<Fd> sockets;
  for (const Fd* socket : {&one.sockets()[0], &two.sockets()[0], &one.sockets()[1]}) {
    sockets.emplace_back(::dup(socket->get()));
  }
  const Result<std::vector<SocketGroup>> groups = SocketGroup::inherit("web", std::move(sockets));
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].address(), one.address());
  EXPECT_EQ((*groups)[0].sockets().size(), 2U);
  EXPECT_EQ((*groups)[1].address(), two.address());
  EXPECT_EQ((*groups)[1].name(), "web");
}

}  // namespace
}  // namespace peal::detail
