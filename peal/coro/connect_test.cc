// SPDX-License-Identifier: BSD-3-Clause
// Tests of connect() and resolve().
#include <peal/coro/connect.h>

#include <cstdlib>
#include <string>

#include <peal/coro/resolve.h>
#include <peal/coro/scope.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_port.h>

namespace peal {
namespace {

using test::error_of;

class ConnectTest : public test::TaskTest {};

// The errors of awaits keep their category: errno, Trouble, and the error of a layer.
TEST_P(ConnectTest, errors_of_a_layer_survive) {
  const test::SealedLayer layer;
  ClientOptions over;
  over.connection.layer = &layer;
  std::string says;
  Server server(loop(), {.on_open = [&](Connection& connection) {
                  connection.send(says);
                  connection.close();
                }});
  const std::string address = server.listen("127.0.0.1:0").value().to_string();
  run([&]() -> Task<> {
    says = "in the clear";
    EXPECT_EQ(error_of(co_await connect(address, over)), test::no_seal_hello());
    EXPECT_EQ(error_of(co_await connect(address, over)), test::no_seal_hello()) << "again";
    says = "";
    EXPECT_EQ(error_of(co_await connect(address, over)), make_error_code(Trouble::kTruncated));
    says = std::string(test::kSealHello) + test::sealed_text("part");
    auto stream = co_await connect(address, over);
    if (!stream) {
      ADD_FAILURE() << stream.error().message();
      co_return;
    }
    EXPECT_EQ((co_await stream->read()).value().to_string(), "part");
    EXPECT_EQ(error_of(co_await stream->read()), make_error_code(Trouble::kTruncated));
    EXPECT_EQ(stream->close_reason(), CloseReason::kTruncated);
    EXPECT_EQ(error_of(co_await stream->write("more")), make_error_code(Trouble::kTruncated));
  });
}

TEST_P(ConnectTest, what_cannot_be_connected_is_an_error) {
  run([&]() -> Task<> { EXPECT_EQ(error_of(co_await connect("no address")), std::error_code(Trouble::kNoPort)); });
}

TEST_P(ConnectTest, connecting_is_cancelled_and_leaves_nothing_behind) {
  Server server(loop(), {});
  run([&]() -> Task<> {
    const auto bound = server.listen("127.0.0.1:0");
    Scope scope(loop());
    auto client = [&]() -> Task<> { EXPECT_EQ(error_of(co_await connect(bound->to_string())), errno_code(ECANCELED)); };
    auto canceller = [&]() -> Task<> {
      scope.cancel();
      co_return;
    };
    scope.spawn(client());
    scope.spawn(canceller());
    co_await scope.join();
  });
}

TEST_P(ConnectTest, addresses_are_resolved_and_lookups_cancelled) {
  Resolver resolver(loop());
  run([&]() -> Task<> {
    auto found = co_await resolve(resolver, "127.0.0.1", 80);
    EXPECT_EQ(found.value().front().to_string(), "127.0.0.1:80");
    EXPECT_EQ(error_of(co_await resolve(resolver, "not a name", 80)), std::error_code(Trouble::kBadAddress));
    Scope scope(loop());
    auto lookup = [&]() -> Task<> {
      EXPECT_EQ(error_of(co_await resolve(resolver, "127.0.0.2", 80)), errno_code(ECANCELED));
    };
    scope.cancel();
    scope.spawn(lookup());
    co_await scope.join();
    EXPECT_EQ(resolver.pending(), 0u);
  });
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(ConnectTest);

}  // namespace
}  // namespace peal
