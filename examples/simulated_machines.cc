// SPDX-License-Identifier: BSD-3-Clause
// A service with a disk, tested on simulated machines: an office that gives out ticket numbers, each once, whatever
// happens to its machine and its network. `simulated_machines` plays 60 worlds; `simulated_machines forgetful` has an
// office that does not sync, and shows how that is found out: which fault of how many it takes.
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

// [office]
// "next\n" is answered with a number that was never given before. The last one is in a file.
class TicketOffice {
 public:
  TicketOffice(peal::SimMachine& machine, bool forgetful)
      : disk_(machine.disk()), forgetful_(forgetful), loop_(machine), server_(*loop_, callbacks()) {
    peal::Result<std::string> text = disk_.read("last");
    while (!text && text.error() == std::errc::io_error) text = disk_.read("last");
    if (text) std::from_chars(text->data(), text->data() + text->size(), last_);
    while (!server_.listen(machine.address(kPort))) {
    }  // a hostile world may be out of fds for a while
  }

 private:
  peal::ConnectionCallbacks callbacks() {
    auto give = [this](peal::Connection& connection, std::string_view) {
      if (!keep(++last_)) return connection.abort();
      connection.send(std::to_string(last_) + "\n");
    };
    return {.on_message = peal::messages(peal::LineFraming(), give)};
  }
  // A file is either the old one or the new one, if the new one is synced before it takes the old one's name.
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
// [office]

// Takes one ticket after the other, and connects anew when its connection is lost or silent.
class Customer {
 public:
  Customer(peal::SimWorld& world, peal::SimMachine& machine, const peal::SocketAddress& office)
      : world_(world), loop_(machine), client_(*loop_, callbacks(), options()) {
    world_.expect(client_.connect(office).has_value(), "the customer cannot even begin");
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
      // [expect]
      const std::string ticket(line);
      world_.expect(tickets_.insert(ticket).second, "ticket " + ticket + " was given twice");
      // [expect]
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

// [play]
// Ten seconds with a power cut and a partition. False: the customer got no tickets after them.
bool play(peal::SimWorld& world, bool forgetful) {
  peal::SimMachine office(world, "10.0.0.1", [forgetful](peal::SimMachine& machine) {
    return std::make_shared<TicketOffice>(machine, forgetful);
  });
  peal::SimMachine street(world, "10.0.0.2");
  street.set_clock({.ahead = std::chrono::hours(1), .rate = 1.01});
  Customer customer(world, street, office.address(kPort));

  world.after(seconds(1), [&] { office.crash(); });  // nothing more of it is sent, and what it did not sync may be gone
  world.after(seconds(2), [&] { office.restart(); });
  world.after(seconds(4), [&] { world.partition({"10.0.0.1"}, {"10.0.0.2"}); });
  world.after(seconds(6), [&] { world.heal(); });
  world.run_for(seconds(10));

  const size_t before = customer.tickets();
  return world.run_until([&] { return customer.tickets() > before; });
}
// [play]

}  // namespace

// [main]
int main(int count, char** arguments) {
  const bool forgetful = count > 1 && std::string_view(arguments[1]) == "forgetful";
  const peal::SimReport report =
      peal::simulate_seeds(1, 60, [forgetful](peal::SimWorld& world) { return play(world, forgetful); });
  std::printf("%s", report.text().c_str());
  return report ? 0 : 1;
}
// [main]
