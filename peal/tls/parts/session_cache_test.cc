// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/session_cache.h>

#include <array>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

SessionPtr session_of(int version, unsigned char id) {
  SessionPtr made(SSL_SESSION_new());
  const std::array<unsigned char, 4> bytes{id, 0, 0, 0};
  SSL_SESSION_set_protocol_version(made.get(), version);
  SSL_SESSION_set1_id(made.get(), bytes.data(), bytes.size());
  return made;
}

// Returns the first byte of the session's id; 0 if there is no session.
int id_of(const SessionPtr& session) {
  unsigned int size = 0;
  return session ? SSL_SESSION_get_id(session.get(), &size)[0] : 0;
}

TEST(SessionCache, gives_the_newest_and_each_of_tls13_once) {
  SessionCache cache(8);
  cache.put("a:1", session_of(TLS1_3_VERSION, 1));
  cache.put("a:1", session_of(TLS1_3_VERSION, 2));
  cache.put("a:10", session_of(TLS1_3_VERSION, 3));
  EXPECT_EQ(id_of(cache.take("a:")), 0);
  EXPECT_EQ(id_of(cache.take("a:1")), 2);
  EXPECT_EQ(id_of(cache.take("a:1")), 1);
  EXPECT_EQ(id_of(cache.take("a:1")), 0);
  EXPECT_EQ(id_of(cache.take("a:10")), 3);
  EXPECT_EQ(cache.size(), 0U);
}

TEST(SessionCache, keeps_one_of_tls12_and_gives_a_copy) {
  SessionCache cache(8);
  cache.put("a:1", session_of(TLS1_2_VERSION, 1));
  const SessionPtr first = cache.take("a:1"), second = cache.take("a:1");
  EXPECT_EQ(id_of(first), 1);
  EXPECT_EQ(id_of(second), 1);
  EXPECT_NE(first.get(), second.get());
  EXPECT_EQ(cache.size(), 1U);
}

TEST(SessionCache, lets_go_of_what_was_used_least_recently) {
  SessionCache cache(3);
  cache.put("b", session_of(TLS1_2_VERSION, 1));
  cache.put("c", session_of(TLS1_2_VERSION, 2));
  cache.put("d", session_of(TLS1_2_VERSION, 3));
  EXPECT_EQ(id_of(cache.take("b")), 1);
  cache.put("e", session_of(TLS1_2_VERSION, 4));
  EXPECT_EQ(cache.size(), 3U);
  EXPECT_EQ(id_of(cache.take("c")), 0);
  EXPECT_EQ(id_of(cache.take("b")), 1);
  EXPECT_EQ(id_of(cache.take("d")), 3);
  EXPECT_EQ(id_of(cache.take("e")), 4);
  SessionCache none(0);
  none.put("a", session_of(TLS1_3_VERSION, 1));
  EXPECT_EQ(none.size(), 0U);
}

}  // namespace
}  // namespace peal::detail
