// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/socket_group.h>

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace peal::detail {
namespace {

TEST(SocketGroup, inherited_sockets_are_grouped_by_their_address) {
  const SocketAddress any_port = SocketAddress::parse("127.0.0.1:0").value();
  SocketGroup one = SocketGroup::open("one", any_port, {}).value();
  SocketGroup two = SocketGroup::open("two", any_port, {}).value();
  ASSERT_TRUE(one.open_for_workers(2));
  std::vector<InheritedListener> sockets;
  for (const Fd* socket : {&one.sockets()[0], &two.sockets()[0], &one.sockets()[1]}) {
    sockets.push_back({Fd(::dup(socket->get()))});
  }
  const Result<std::vector<SocketGroup>> groups = SocketGroup::inherit("web", std::move(sockets));
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].address(), one.address());
  EXPECT_EQ((*groups)[0].sockets().size(), 2U);
  EXPECT_EQ((*groups)[1].address(), two.address());
  EXPECT_EQ((*groups)[1].name(), "web");
}

TEST(SocketGroup, a_socket_file_is_removed_by_whom_it_belongs_to) {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("peal-group-{}", ::getpid())).string();
  SocketGroup opened = SocketGroup::open("web", SocketAddress::parse("unix:" + path).value(), {}).value();
  for (const bool with_file : {false, true}) {
    std::vector<InheritedListener> sockets;
    sockets.push_back({.socket = Fd(::dup(opened.sockets()[0].get())), .with_file = with_file});
    SocketGroup inherited = std::move(SocketGroup::inherit("web", std::move(sockets)).value().front());
    inherited.close();
    EXPECT_EQ(std::filesystem::exists(path), !with_file);
  }
}

}  // namespace
}  // namespace peal::detail
