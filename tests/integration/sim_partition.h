// SPDX-License-Identifier: BSD-3-Clause
// SimPartition: a fixture with one connection between two simulated machines. The tests cut the link between the
// machines. They run on the test's thread.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_machine.h>
#include <tests/support/sim_rig.h>

namespace peal::test {

inline const std::string kHere = "10.0.0.1";
inline const std::string kThere = "10.0.0.2";

// A fixture with a server on the machine "here" and a client on the machine "there". The server sends nothing unless a
// test makes it send.
class SimPartition : public SimTest {
 protected:
  struct End {
    ConnectionHandle handle;
    std::string received;
    bool open = false;
    bool closed = false;
    CloseReason reason = CloseReason::kLocal;
    std::error_code error;
  };

  static ConnectionCallbacks noting(End& end) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [&end](Connection& connection) {
      end.handle = connection.handle();
      end.open = true;
    };
    callbacks.on_message = hearing(end.received);
    callbacks.on_close = [&end](Connection& connection, CloseReason reason) {
      end.closed = true;
      end.reason = reason;
      end.error = connection.error();
    };
    return callbacks;
  }
  void connect() {
    ASSERT_TRUE(client.connect(server.listen(kHere + ":0").value()));
    ASSERT_TRUE(world.run_until([this] { return here.open && there.open; }));
  }
  // Sends a line from the client to the server every 10 ms, until `time` has passed.
  void speak(Duration time) {
    const TimePoint end = world.now() + time;
    for (; world.now() < end; world.run_for(std::chrono::milliseconds(10))) {
      const std::string line = std::to_string(said.size()) + "\n";
      if (there.handle.send(line)) said += line;
    }
  }

  SimWorld world{1};
  SimMachine machine_here{world, kHere};
  SimMachine machine_there{world, kThere};
  SimLoop loop_here{machine_here};
  SimLoop loop_there{machine_there};
  End here;
  End there;
  std::string said;
  // Returns options without read_window and write_window, so that a slow or silent peer is not disconnected. Only the
  // peer or the network can end a connection.
  static ConnectionOptions patient() {
    ConnectionOptions options;
    options.read_window = options.write_window = {};
    return options;
  }
  Server server{*loop_here, noting(here), ServerOptions{.connection = patient()}};
  std::error_code refused;
  Client client{*loop_there, noting(there),
                ClientOptions{.connect_timeout = std::chrono::minutes(10), .connection = patient()},
                [this](std::error_code error, Duration) { refused = error; }};
};

}  // namespace peal::test
