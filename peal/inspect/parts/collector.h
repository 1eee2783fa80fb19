// SPDX-License-Identifier: BSD-3-Clause
// Collector: pulls the numbers together. It asks each loop on its own thread and joins the answers, waiting for none
// beyond the deadline; a loop that still owes an answer is not asked again, so a stalled loop gathers no questions.
//
// It belongs to the inspector's loop, and is shared with what waits for answers there.
#pragma once

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
  size_t most_connections = 0;  // told of each server on each loop
  bool measure_turns = true;
};

struct ConnectionDetail {
  ConnectionName name;
  std::optional<ConnectionFacts> facts;  // none: it has ended
  bool recorded = false;                 // the loop has a flight recorder
  std::vector<FlightEvent> events;
  TimePoint now;  // on its loop
};

class Collector : public std::enable_shared_from_this<Collector> {
 public:
  using Done = Callback<void(const Snapshot&)>;
  using MethodsView = std::function<std::vector<MethodStats>()>;

  Collector(Loop& loop, const CollectorOptions& options) : loop_(loop), options_(options) {}

  // By itself: it is shown until it is removed. Those of servers are while the servers are.
  void add_loop(const std::shared_ptr<Mailbox>& mailbox);
  void remove_loop(const Mailbox& mailbox);
  // `tasks`: how many it has now; asked on this thread.
  void add_server(std::string name, Server& server, std::vector<std::function<HttpStats()>> http,
                  std::function<size_t()> tasks = {}, std::vector<MethodsView> methods = {});
  void remove_server(const Server& server);
  void add_watchdog(const StallWatchdog* watchdog) { watchdogs_.push_back(watchdog); }
  void remove_watchdog(const StallWatchdog* watchdog) { std::erase(watchdogs_, watchdog); }

  // All that was added, for good.
  void forget_all();

  // Calls made while an answer is gathered share it.
  void collect(Done done);
  // Nothing when the loop did not answer; the name's server and part exist, or there is nothing either.
  void describe(const ConnectionName& name, Callback<void(std::optional<ConnectionDetail>)> done);
  // Whether there was such a connection; nothing when its loop did not answer.
  void end_connection(const ConnectionName& name, EndHow how, Callback<void(std::optional<bool>)> done);
  static constexpr size_t kMostFlightEvents = 256;  // told of one connection
  // Null: there is no such server, or none any more.
  std::shared_ptr<ServerLife> server(size_t number) const;

 private:
  struct WatchedLoop;
  struct ShownServer {
    std::string name;
    std::shared_ptr<ServerLife> life;              // null: removed, or gone; its number is not used again
    std::vector<std::function<HttpStats()>> http;  // empty: no HTTP server
    std::function<size_t()> tasks;                 // empty: no CoServer
    std::vector<MethodsView> methods;              // empty: a protocol without methods
    std::vector<ConnectionsView> views;
    std::optional<LayerStats> layer;  // as it was told last: all loops tell of the same one
  };
  // What a loop says of one server.
  struct Share {
    size_t server = 0;
    NetStats stats;
    std::optional<HttpStats> http;
    std::vector<MethodStats> methods;
    std::optional<LayerStats> layer;
    std::vector<ConnectionRow> rows;
  };
  // One server on one loop.
  struct View {
    ConnectionName name;  // but for the connection
    ConnectionsView connections;
    std::function<HttpStats()> http;
    MethodsView methods;
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
  void ask_loop(size_t number);
  void add_answer(size_t number, std::optional<Answer> answer);
  void finish();

  Loop& loop_;
  const CollectorOptions options_;
  std::vector<std::shared_ptr<WatchedLoop>> loops_;
  std::vector<ShownServer> servers_;
  std::vector<const StallWatchdog*> watchdogs_;
  // The round under way.
  std::vector<Done> waiting_;
  size_t outstanding_ = 0;
  Snapshot snapshot_;
};

}  // namespace peal::detail
