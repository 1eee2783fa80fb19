// SPDX-License-Identifier: BSD-3-Clause
// Tests the story of stopped_right_after_sending_test.cc on the simulator. The peers are clients on a loop of their
// own.
#include <functional>
#include <string>

#include <tests/support/engine_rig.h>
#include <tests/support/file_of.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

class SimStoppedRightAfterSending : public test::SimTest {
 protected:
  // Lets one client send a request; `answer` answers it and stops the server's loop. Expects that the client gets
  // `wanted` and then the FIN.
  void expect_heard(const std::string& wanted, const std::function<void(Connection&)>& answer) {
    on_seeds(20, {}, [&](test::SimPair& pair) {
      Server server(*pair.here, {.on_message = [&](Connection& connection, Buffer& input) {
        input.clear();
        answer(connection);
      }});
      std::string heard;
      bool ended = false;
      Client client(*pair.there, {.on_open = [](Connection& connection) { connection.send("?"); },
                                  .on_message = test::hearing(heard),
                                  .on_close =
                                      [&](Connection&, CloseReason reason) {
                                        EXPECT_EQ(reason, CloseReason::kPeerClosed);
                                        ended = true;
                                      }});
      ASSERT_TRUE(client.connect(pair.listen(server)));
      EXPECT_TRUE(pair.run_until([&] { return ended; }));
      EXPECT_TRUE(same_bytes(heard, wanted));
    });
  }
};

TEST_F(SimStoppedRightAfterSending, answer_of_a_message_callback) {
  for (const std::string& answer : {std::string("hello"), pattern(60'000)}) {
    expect_heard(answer, [&](Connection& connection) {
      connection.send(answer);
      connection.loop().stop();
    });
  }
}

// In this world writes are short, and a send may fail with EAGAIN.
TEST_F(SimStoppedRightAfterSending, answer_in_short_writes) {
  on_seeds(50, rough(), [&](test::SimPair& pair) {
    const std::string answer = pattern(10'000);
    Server server(*pair.here, {.on_open = [&](Connection& connection) {
      connection.send(answer);
      connection.loop().stop();
    }});
    std::string heard;
    bool ended = false;
    Client client(*pair.there,
                  {.on_message = test::hearing(heard), .on_close = [&](Connection&, CloseReason) { ended = true; }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    EXPECT_TRUE(pair.run_until([&] { return ended; }));
    EXPECT_TRUE(same_bytes(heard, answer));
    EXPECT_EQ(pair.here->engine().stats().lost_bytes, 0U);
  });
}

TEST_F(SimStoppedRightAfterSending, small_file) {
  const std::string body = pattern(5000);
  expect_heard("head;" + body, [&](Connection& connection) {
    connection.send("head;");
    connection.send_file(test::file_of(body));
    connection.loop().stop();
  });
}

TEST_F(SimStoppedRightAfterSending, answer_of_a_posted_task) {
  expect_heard("hello", [](Connection& connection) {
    connection.loop().post([handle = connection.handle(), &loop = connection.loop()] {
      handle.send("hello");
      loop.stop();
    });
  });
}

}  // namespace
}  // namespace peal
