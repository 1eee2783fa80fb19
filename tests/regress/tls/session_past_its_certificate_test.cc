// SPDX-License-Identifier: BSD-3-Clause
// The certificate of a client was valid for one day. The client came back every eleven hours, each time with the ticket
// that it had got the time before. On day 30 it was still served under the subject of its certificate, although a full
// handshake would have refused it. Nothing is verified when a session is resumed, and each resumption in TLS 1.3 brings
// the next ticket (RFC 8446 4.6.1). A session without a client certificate never ended either.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/sim_rig.h>
#include <tests/support/tls/sim_secrets.h>
#include <tests/support/tls/tls_certificates.h>

namespace peal {
namespace {

using std::chrono::hours;
using testing::ElementsAre;

// The certificates are made now, so the days of the world begin now too.
const SimWorld* world_of_days = nullptr;
TimePoint first_day;
std::chrono::sys_seconds clock_of_days() {
  static const auto today = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return today + std::chrono::floor<std::chrono::seconds>(world_of_days->now() - first_day);
}

class SimSessionAge : public test::SimTest {
 protected:
  ~SimSessionAge() override { world_of_days = nullptr; }

  // Returns how the visits of a client go that comes back every eleven hours: full handshake, resumed, or refused.
  static std::vector<std::string> visits(test::SimPair& pair, TlsServerOptions serving, TlsClientOptions calling,
                                         int count) {
    world_of_days = &pair.world;
    first_day = pair.world.now();
    serving.clock = calling.clock = clock_of_days;
    calling.limits.most_session_age = Duration::max();  // the client would resume a session of any age
    const auto server_side = made(TlsServerContext::make(std::move(serving)));
    const auto client_side = made(TlsClientContext::make(std::move(calling)));
    ServerOptions server_options;
    server_options.connection.layer = server_side.get();
    std::string seen;
    Server server(*pair.here,
                  {.on_open =
                       [&](Connection& connection) {
                         const LayerFacts facts = *connection.layer_facts();
                         seen = (facts.resumed ? "resumed " : "full ") + facts.peer;
                         connection.send("hello");
                         connection.close();
                       }},
                  server_options);
    ClientOptions client_options;
    client_options.connection.layer = client_side.get();
    client_options.connect.host = "example.org";
    bool is_over = false;
    Client client(*pair.there,
                  {.on_message = [](Connection&, Buffer& input) { input.clear(); },
                   .on_close = [&](Connection&, CloseReason) { is_over = true; }},
                  client_options, [&](std::error_code error, Duration) { is_over = static_cast<bool>(error); });
    const SocketAddress address = pair.listen(server);
    std::vector<std::string> all;
    for (int visit = 0; visit < count; ++visit) {
      is_over = false;
      seen = "refused";
      client.stop();
      EXPECT_TRUE(client.connect(address));
      EXPECT_TRUE(pair.run_until([&] { return is_over; }));
      all.push_back(seen);
      pair.run_for(hours(11));
    }
    return all;
  }

  template <class Context>
  static std::unique_ptr<Context> made(TlsResult<std::unique_ptr<Context>> context) {
    EXPECT_TRUE(context) << context.error();
    return std::move(*context);
  }
  static TlsCertificate certificate(const SelfSigned& made) {
    return {.chain_pem = made.chain_pem, .key_pem = made.key_pem};
  }

  const test::TestAuthority root_{"root"};
  const TlsCertificate site_ = certificate(root_.issue({.ends = hours(240)}));
};

TEST_F(SimSessionAge, client_whose_certificate_has_expired_is_not_resumed) {
  test::SimPair pair(1, SimOptions{});
  const TlsCertificate own = certificate(root_.issue({.common_name = "visitor", .ends = hours(24)}));
  EXPECT_THAT(
      visits(pair,
             {.certificates = {site_}, .client_auth = TlsClientAuth::kRequired, .client_roots = {.pem = root_.pem()}},
             {.roots = {.pem = root_.pem()}, .certificate = own}, 5),
      ElementsAre("full CN=visitor", "resumed CN=visitor", "resumed CN=visitor", "refused", "refused"));
}

TEST_F(SimSessionAge, session_that_is_a_day_old_is_not_resumed) {
  test::SimPair pair(1, SimOptions{});
  EXPECT_THAT(visits(pair, {.certificates = {site_}}, {.roots = {.pem = root_.pem()}}, 7),
              ElementsAre("full ", "resumed ", "resumed ", "full ", "resumed ", "resumed ", "full "));
}

}  // namespace
}  // namespace peal
