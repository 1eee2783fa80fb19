// SPDX-License-Identifier: BSD-3-Clause
// After sending has failed, a connection stays open only to show the input that its peer had sent before. In this state
// it refused a Buffer, but accepted a string or a range of a file: the bytes went nowhere, and yet sent_bytes() counted
// them. Now no kind of output is accepted while can_send() is false.
#include <string>

#include <peal/base/log.h>
#include <tests/support/file_of.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

class RefusedBytes : public test::SimTest {};

TEST_F(RefusedBytes, are_not_counted_as_sent) {
  bool failed = false;
  on_seeds(1, {}, [&failed](test::SimPair& pair) {
    Server server(*pair.here, {.on_open = [](Connection& connection) {
      connection.send("hello");
      connection.pause();
      connection.loop().after(std::chrono::milliseconds(20), [handle = connection.handle()] { handle.abort(); });
    }});
    ConnectionCallbacks calling;
    calling.on_open = [](Connection& connection) { connection.send(std::string(2'000'000, 'x')); };
    calling.on_writable = [&failed](Connection& connection) {
      if (connection.can_send()) return;
      failed = true;
      const uint64_t before = connection.sent_bytes();
      EXPECT_FALSE(connection.send("text"));
      EXPECT_FALSE(connection.send(Buffer("buffer")));
      connection.send_file(test::file_of("file"));
      EXPECT_EQ(connection.sent_bytes(), before);
    };
    calling.on_message = [](Connection&, Buffer&) {};
    Client client(*pair.there, std::move(calling));
    ASSERT_TRUE(client.connect(pair.listen(server)));
    pair.run_for(std::chrono::seconds(1));
  });
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace peal
