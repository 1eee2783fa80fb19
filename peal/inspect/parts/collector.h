// SPDX-License-Identifier: BSD-3-Clause
// Collector: collects the figures that the inspector shows. It asks each loop on the loop's own thread, joins the
// answers to a Snapshot, and waits for no loop longer than reply_timeout. A loop that has not answered yet is not asked
// again, so a stalled loop does not pile up questions.
//
// A Collector may be used on the inspector's loop only. It is a shared_ptr, because callbacks that wait for answers on
// that loop keep it alive.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <peal/base/callback.h>
#include <peal/inspect/parts/ask.h>
#include <peal/inspect/parts/snapshot.h>
#include <peal/loop/loop.h>
#include <peal/net/connections_view.h>
#include <peal/net/server.h>
#include <peal/observe/method_stats.h>

namespace peal::detail {

struct CollectorOptions {
  Duration reply_timeout{};
  bool measure_turns = true;  // true if the loops time their turns
};

// What a snapshot has besides the figures of the process, the loops and the servers. These cost more: a visit to each
// connection, and for the details three files of /proc for each thread and one of the system.
struct Wanted {
  bool details = false;                             // the threads and the system
  std::optional<ConnectionQuery> connections = {};  // the connections of each server that match
  std::optional<size_t> server = {};                // only the connections of this server

  bool operator==(const Wanted&) const = default;
};

struct ConnectionDetail {
  ConnectionName name;
  std::optional<ConnectionFacts> facts;  // empty if the connection has ended
  bool recorded = false;                 // true if the loop has a flight recorder
  std::vector<FlightEvent> events;       // what the flight recorder still has of the connection, oldest first
  TimePoint now;                         // the time on the connection's loop, to compare the events with
};

using MethodsView = std::function<std::vector<MethodStats>()>;
using RoutesView = std::function<RouteFigures()>;

// What a server has to show besides its connections. `http`, `methods` and `routes` each have one function for each
// loop of the server, in the order of Server::views(), which is called on that loop's thread. They are empty if the
// server has no such figures. `tasks` returns the number of the server's coroutines, and is called on the collector's
// thread.
struct ServerFigures {
  std::vector<std::function<HttpStats()>> http = {};
  std::vector<MethodsView> methods = {};
  std::vector<RoutesView> routes = {};
  std::function<size_t()> tasks = {};
};

class Collector : public std::enable_shared_from_this<Collector> {
 public:
  using Done = Callback<void(const Snapshot&)>;

  Collector(Loop& loop, const CollectorOptions& options) : loop_(loop), options_(options) {}

  // Shows a loop until remove_loop(). The loops of a server need no add_loop(): they are shown as long as the server
  // is.
  void add_loop(const std::shared_ptr<Mailbox>& mailbox);
  void remove_loop(const Mailbox& mailbox);

  // Shows a server until remove_server() or its destruction.
  void add_server(std::string name, Server& server, ServerFigures figures = {});
  void remove_server(const Server& server);

  // add_watchdog() shows the stalls that the watchdog has found, until remove_watchdog() is called. The watchdog must
  // not be destroyed before that.
  void add_watchdog(const StallWatchdog* watchdog) { watchdogs_.push_back(watchdog); }
  void remove_watchdog(const StallWatchdog* watchdog) { std::erase(watchdogs_, watchdog); }

  // Removes all servers and all watchdogs, and shows no loop any more. The loops keep their numbers, so that answers
  // that are still to come find their loop.
  void forget_all();

  // Asks all shown loops and calls `done` with the snapshot that their answers give. Calls that want the same share one
  // snapshot if they are made before its answers are complete. Other calls wait until then.
  void collect(const Wanted& wanted, Done done);
  // Returns whether a server is shown that has the number `name.server`, and a loop with the index `name.part`.
  bool knows(const ConnectionName& name) const { return find_view(name) != nullptr; }
  // Asks the loop of a connection for the connection's details and passes them to `done`. `done` gets nullopt if the
  // loop did not answer, if there is no server with the number `name.server`, or if that server has no loop with the
  // index `name.part`.
  void describe(const ConnectionName& name, Callback<void(std::optional<ConnectionDetail>)> done);
  // Ends a connection. `done` gets true if there was a connection with this name, and false if there was none. `done`
  // gets nullopt if the loop of the connection did not answer.
  void end_connection(const ConnectionName& name, EndHow how, Callback<void(std::optional<bool>)> done);
  static constexpr size_t kMostFlightEvents = 256;  // the most events that describe() returns
  // Returns the server with this number. Returns null if no server has this number, or if the server was removed, or if
  // collect() has noticed that it was destroyed.
  std::shared_ptr<ServerLife> server(size_t number) const;

 private:
  struct WatchedLoop;
  struct ShownServer {
    std::string name;
    std::shared_ptr<ServerLife> life;  // null if removed or found destroyed; the number is not reused
    ServerFigures figures;
    std::vector<ConnectionsView> views;
    std::optional<LayerStats> layer;  // the latest answer; all loops of the server share one layer
  };
  // The figures of one server in a loop's answer.
  struct Share {
    size_t server = 0;
    NetStats stats;
    std::optional<HttpStats> http;
    std::vector<MethodStats> methods;
    RouteFigures routes;
    std::optional<LayerStats> layer;
    size_t matched = 0;
    std::vector<ConnectionRow> rows;
  };
  // The functions that read the figures of one server on one loop.
  struct View {
    ConnectionName name;  // server and part only
    ConnectionsView connections;
    std::function<HttpStats()> http;
    MethodsView methods;
    RoutesView routes;
    std::optional<ConnectionQuery> wanted;  // the connections to list
  };
  // All loops are asked once for a round. `waiting` gets its snapshot.
  struct Round {
    Wanted wanted;
    std::vector<Done> waiting;
  };
  struct Answer {
    LoopSnapshot loop;
    std::vector<Share> shares;
  };

  const ConnectionsView* find_view(const ConnectionName& name) const;
  size_t loop_number(const Mailbox& mailbox) const;
  WatchedLoop& watched_loop(const std::shared_ptr<Mailbox>& mailbox);
  void forget_destroyed_servers();
  bool is_shown(const WatchedLoop& watched) const;
  void begin_round();
  std::vector<View> views_on(const Mailbox& mailbox) const;
  void ask_loop(size_t number);
  void add_answer(size_t number, std::optional<Answer> answer);
  void finish();

  Loop& loop_;
  const CollectorOptions options_;
  std::vector<std::shared_ptr<WatchedLoop>> loops_;
  std::vector<ShownServer> servers_;
  std::vector<const StallWatchdog*> watchdogs_;

  std::deque<Round> rounds_;  // the round in progress, if there is one, then those that wait for its end
  bool in_round_ = false;

  // The state of the round in progress: begin_round() has asked the loops, and some have not answered yet.
  size_t outstanding_ = 0;  // loops that have not answered, plus 1 while begin_round() asks
  Snapshot snapshot_;       // the answers so far
};

}  // namespace peal::detail
