// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_target.h>

#include <gtest/gtest.h>

#include <load/scripted_server.h>

namespace peal::cli {
namespace {

SocketAddress nobodys() { return load::ScriptedServer().address(); }

TEST(LoadTarget, the_first_address_where_a_server_listens_is_taken) {
  const SocketAddress gone = nobodys();
  const load::ScriptedServer server;
  EXPECT_EQ(first_that_listens({gone, server.address()}).to_string(), server.address().to_string());
  EXPECT_EQ(first_that_listens({server.address(), gone}).to_string(), server.address().to_string());
}

TEST(LoadTarget, without_a_server_the_first_address_is_taken) {
  const SocketAddress gone = nobodys();
  EXPECT_EQ(first_that_listens({gone, SocketAddress::parse("[::1]:1").value()}).to_string(), gone.to_string());
  EXPECT_EQ(first_that_listens({gone}).to_string(), gone.to_string());
}

TEST(LoadTarget, texts_that_are_no_address) {
  for (const char* text : {"", ":", "localhost", "localhost:", ":80", "localhost:99999", "a:b:80", "[localhost]:80"}) {
    EXPECT_FALSE(find_target(text)) << text;
  }
  EXPECT_EQ(find_target("localhost:80").value().port(), 80);
}

}  // namespace
}  // namespace peal::cli
