// SPDX-License-Identifier: BSD-3-Clause
// Tests a service with a disk on simulated machines. The service is a ticket office. It gives out numbers, and it must
// never give out the same number twice, even if its machine loses power or its network is cut.
//
// `simulated_machines` runs the test in 60 simulated worlds. `simulated_machines forgetful` tests an office with a bug:
// it does not sync its file. The output shows how the simulator finds the bug, and which of the many faults triggers
// it.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <peal/net/client.h>
#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/simulate.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kPort = 7000;

// Quoted in docs: [office]
// Answers each line with a number that the office has never given before. The office stores the number in a file before
// it answers, so that it knows its last number after a power cut. If the disk fails, the office aborts the connection.
// A forgetful office has a bug: it may give a number twice, because it does not sync its file.
class TicketOffice {
 public:
  TicketOffice(peal::SimMachine& machine, bool forgetful)
      : disk_(machine.disk()), forgetful_(forgetful), loop_(machine), server_(*loop_, callbacks()) {
    peal::Result<std::string> text = disk_.read("last");
    while (!text && text.error() == std::errc::io_error) text = disk_.read("last");
    if (text) std::from_chars(text->data(), text->data() + text->size(), last_);
    while (!server_.listen(machine.address(kPort))) {
    }  // tries again, because listen() may fail with a simulated fault (no free fd)
  }

 private:
  peal::ConnectionCallbacks callbacks() {
    auto give = [this](peal::Connection& connection, std::string_view) {
      if (!keep(++last_)) return connection.abort();
      connection.send(std::to_string(last_) + "\n");
    };
    return {.on_message = peal::messages(peal::LineFraming(), give)};
  }
  // Stores `number` in the file "last", and returns false if the disk fails. Writes the file "last.new", syncs that
  // file, and renames it to "last". After a power cut, "last" therefore holds either the previous number or `number`. A
  // forgetful office does not sync, so the content of "last" may be lost or damaged in a power cut.
  bool keep(long number) {
    if (!disk_.write("last.new", std::to_string(number))) return false;
    if (!forgetful_ && !disk_.sync("last.new")) return false;
    return disk_.rename("last.new", "last").has_value();
  }

  peal::SimDisk& disk_;
  const bool forgetful_;
  long last_ = 0;
  peal::SimLoop loop_;
  peal::Server server_;
};
// End of quote: [office]

// Asks for one ticket after the other. Connects again if the connection is lost, or has been silent for a second.
class Customer {
 public:
  Customer(peal::SimWorld& world, peal::SimMachine& machine, const peal::SocketAddress& office)
      : world_(world), loop_(machine), client_(*loop_, callbacks(), options()) {
    world_.expect(client_.connect(office).has_value(), "connect() of the customer fails immediately");
  }
  size_t tickets() const { return tickets_.size(); }

 private:
  static peal::ClientOptions options() {
    peal::ClientOptions options;
    options.connect_timeout = seconds(1);
    options.retry = {.attempts = 0, .longest_delay = milliseconds(500), .reconnect = true};
    options.connection.idle_timeout = seconds(1);
    return options;
  }
  peal::ConnectionCallbacks callbacks() {
    peal::ConnectionCallbacks callbacks;
    callbacks.on_open = [](peal::Connection& connection) { connection.send("next\n"); };
    auto take = [this](peal::Connection& connection, std::string_view line) {
      // Quoted in docs: [expect]
      const std::string ticket(line);
      world_.expect(tickets_.insert(ticket).second, "ticket " + ticket + " was given twice");
      // End of quote: [expect]
      loop_->after(milliseconds(20), [handle = connection.handle()] { handle.send("next\n"); });
    };
    callbacks.on_message = peal::messages(peal::LineFraming(), take);
    return callbacks;
  }

  peal::SimWorld& world_;
  std::set<std::string> tickets_;
  peal::SimLoop loop_;
  peal::Client client_;
};

// Quoted in docs: [play]
// Simulates ten seconds with a power cut and a network partition. Returns true if the customer gets another ticket
// after the ten seconds. Returns false if the customer gets none, or if the world has failed, for example because a
// ticket was given twice.
bool play(peal::SimWorld& world, bool forgetful) {
  peal::SimMachine office(world, "10.0.0.1", [forgetful](peal::SimMachine& machine) {
    return std::make_shared<TicketOffice>(machine, forgetful);
  });
  peal::SimMachine street(world, "10.0.0.2");
  street.set_clock({.ahead = std::chrono::hours(1), .rate = 1.01});
  Customer customer(world, street, office.address(kPort));

  world.after(seconds(1), [&] { office.crash(); });  // a power cut: data that is not synced may be lost
  world.after(seconds(2), [&] { office.restart(); });
  world.after(seconds(4), [&] { world.partition({"10.0.0.1"}, {"10.0.0.2"}); });
  world.after(seconds(6), [&] { world.heal(); });
  world.run_for(seconds(10));

  const size_t before = customer.tickets();
  return world.run_until([&] { return customer.tickets() > before; });
}
// End of quote: [play]

}  // namespace

// Quoted in docs: [main]
int main(int count, char** arguments) {
  const bool forgetful = count > 1 && std::string_view(arguments[1]) == "forgetful";
  const peal::SimReport report =
      peal::simulate_seeds(1, 60, [forgetful](peal::SimWorld& world) { return play(world, forgetful); });
  std::printf("%s", report.text().c_str());
  return report ? 0 : 1;
}
// End of quote: [main]
