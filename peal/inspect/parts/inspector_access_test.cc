// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/inspector_access.h>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

SocketAddress from(std::string_view text) { return SocketAddress::parse(text).value(); }

// Returns an action that is allowed without a token.
AskedBy local_action() {
  return {.peer = from("127.0.0.1:4000"), .host = "127.0.0.1:9990", .origins = {}, .authorization = {}, .action = "1"};
}

AskedBy remote_action(std::string_view authorization) {
  AskedBy asked = local_action();
  asked.peer = from("192.0.2.1:4000");
  asked.host = "192.0.2.9:9990";
  asked.authorization = authorization;
  return asked;
}

TEST(InspectorAccess, host_must_be_an_address_localhost_or_configured) {
  const InspectorRules rules{.token = {}, .hosts = {"Metrics.example"}};
  AskedBy asked;
  for (const char* host : {"127.0.0.1:9990", "127.0.0.1", "[::1]:9990", "[::1]", "localhost", "LocalHost:9990",
                           "192.0.2.1:80", "metrics.example", "metrics.example:9990"}) {
    asked.host = host;
    EXPECT_EQ(may_look(asked, rules).status, 0) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:9990", "localhost.evil.example", "127.0.0.1.evil.example",
                           "metrics.example.evil", ":9990", "[", "[::1", "unix:x", "[evil]"}) {
    asked.host = host;
    EXPECT_EQ(may_look(asked, rules).status, 421) << host;
  }
}

TEST(InspectorAccess, without_a_token_only_this_machine_acts) {
  EXPECT_EQ(may_act(local_action(), {}).status, 0);
  EXPECT_EQ(may_act(remote_action({}), {}).status, 403);
  EXPECT_EQ(may_act(remote_action("Bearer "), {}).status, 403) << "an empty token is none";
  AskedBy passed_on = local_action();
  passed_on.forwarded = true;
  EXPECT_EQ(may_act(passed_on, {}).status, 403) << "through a proxy of this machine's";
  EXPECT_EQ(may_look(passed_on, {}).status, 0);
}

TEST(InspectorAccess, with_a_token_who_has_it_acts_and_nobody_else) {
  const InspectorRules rules{.token = "s3cret", .hosts = {}};
  EXPECT_EQ(may_act(remote_action("Bearer s3cret"), rules).status, 0);
  EXPECT_EQ(may_act(remote_action("bearer s3cret"), rules).status, 0);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3cret ", "Bearer s3cretx", "Basic s3cret",
                            "s3cret", "Bearer s3creT"}) {
    EXPECT_EQ(may_act(remote_action(wrong), rules).status, 401) << wrong;
  }
  EXPECT_EQ(may_act(local_action(), rules).status, 401) << "another user of this machine has none";
}

TEST(InspectorAccess, another_site_may_not_act) {
  AskedBy form = local_action();
  form.action = {};
  EXPECT_EQ(may_act(form, {}).status, 403);
  AskedBy script = local_action();
  script.origins = {"http://127.0.0.1:9990", "http://evil.example"};
  EXPECT_EQ(may_act(script, {}).status, 403) << "one of two";
  script.origins = {""};
  EXPECT_EQ(may_act(script, {}).status, 403) << "an empty one";
  for (const char* origin :
       {"https://evil.example", "null", "http://127.0.0.1:9991", "http://127.0.0.1:9990.evil.example"}) {
    script.origins = {origin};
    EXPECT_EQ(may_act(script, {}).status, 403) << origin;
  }
  script.origins = {"http://127.0.0.1:9990"};
  EXPECT_EQ(may_act(script, {}).status, 0);
  AskedBy rebound = local_action();
  rebound.host = "evil.example:9990";
  rebound.origins = {"http://evil.example:9990"};
  EXPECT_EQ(may_act(rebound, {}).status, 421) << "DNS rebinding";
}

TEST(InspectorAccess, certified_client_acts_from_anywhere_as_one_that_has_the_token) {
  AskedBy asked = remote_action({});
  asked.secure = true;
  const InspectorRules with_token{.token = "s3cret", .hosts = {}};
  EXPECT_EQ(may_act(asked, {}).status, 403) << "TLS alone says nothing of who asks";
  EXPECT_EQ(may_act(asked, with_token).status, 401);
  asked.certified = true;
  EXPECT_EQ(may_act(asked, {}).status, 0);
  EXPECT_EQ(may_act(asked, with_token).status, 0);
  asked.authorization = "Bearer wrong";
  EXPECT_EQ(may_act(asked, with_token).status, 0);
  asked.forwarded = true;
  EXPECT_EQ(may_act(asked, with_token).status, 401) << "it is the proxy's certificate";
  EXPECT_EQ(may_act(asked, {}).status, 403);
  asked.authorization = "Bearer s3cret";
  EXPECT_EQ(may_act(asked, with_token).status, 0);
}

TEST(InspectorAccess, certificate_does_not_let_another_site_act) {
  AskedBy asked = remote_action({});
  asked.secure = asked.certified = true;
  asked.action = {};
  EXPECT_EQ(may_act(asked, {}).status, 403) << "a form";
  asked.action = "1";
  for (const char* origin : {"https://evil.example", "null", "http://192.0.2.9:9990"}) {
    asked.origins = {origin};
    EXPECT_EQ(may_act(asked, {}).status, 403) << origin;
  }
  asked.origins = {"https://192.0.2.9:9990"};
  EXPECT_EQ(may_act(asked, {}).status, 0);
  asked.host = "evil.example";
  asked.origins = {"https://evil.example"};
  EXPECT_EQ(may_look(asked, {}).status, 421);
  EXPECT_EQ(may_act(asked, {}).status, 421) << "DNS rebinding";
}

// A proxy in front may terminate TLS: the page is at https for the browser, and plain HTTP here.
TEST(InspectorAccess, page_behind_a_proxy_that_speaks_tls_is_our_own) {
  const InspectorRules rules{.token = "s3cret", .hosts = {}};
  AskedBy asked = remote_action("Bearer s3cret");
  asked.origins = {"https://192.0.2.9:9990"};
  EXPECT_EQ(may_act(asked, rules).status, 0);
}

}  // namespace
}  // namespace peal::detail
