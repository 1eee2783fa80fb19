// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/inspector.h>

#include <optional>
#include <utility>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/history.h>
#include <peal/inspect/parts/inspector_pages.h>
#include <peal/loop/loop_group.h>
#include <peal/loop/on_loop.h>
#include <peal/net/server.h>
#include <peal/observe/stall_watchdog.h>

namespace peal {

using detail::Collector;

struct Inspector::Core {
  Core(Loop& loop, const InspectorOptions& options)
      : mailbox(loop.mailbox()),
        measure_routes(options.measure_routes),
        collector(std::make_shared<Collector>(loop, detail::CollectorOptions{.reply_timeout = options.reply_timeout,
                                                                             .measure_turns = options.measure_turns})),
        http(std::in_place, loop,
             detail::inspector_pages({.collector = collector,
                                      .history = history,
                                      .rules = {.token = options.token, .hosts = options.hosts},
                                      .on_drain = options.on_drain,
                                      .most_connections = options.most_connections}),
             HttpServerOptions{.layer = options.layer}) {}

  // Adds a sample to the history now, and every second from now on. Must be called on the collector's loop.
  void sample(Loop& loop) {
    const auto take = [collector = collector, history = history] {
      collector->collect({}, [history](const detail::Snapshot& snapshot) { history->add(snapshot); });
    };
    take();
    sampling = loop.every(detail::History::kPeriod, take);
  }

  const std::shared_ptr<Mailbox> mailbox;
  const bool measure_routes;
  const std::shared_ptr<Collector> collector;
  const std::shared_ptr<detail::History> history = std::make_shared<detail::History>();
  TimerId sampling;
  std::optional<HttpServer> http;
};

// Calls `task` with the collector on the collector's loop and waits for it. If that loop has ended, calls `task` here,
// because no other thread uses the collector then.
template <class Task>
void Inspector::on_loop(Task&& task) {
  const bool asked = detail::on_loop_and_wait(*core_->mailbox, [&](Loop&) { task(*core_->collector); });
  if (!asked) task(*core_->collector);
}

Inspector::Inspector(Loop& loop, const InspectorOptions& options) : core_(std::make_shared<Core>(loop, options)) {
  if (!options.keep_history) return;
  detail::on_loop_and_wait(*core_->mailbox, [this](Loop& its_loop) { core_->sample(its_loop); });
}

// Ends the samples, and makes the collector forget the servers and watchdogs and show no loop. The collector may
// outlive this Inspector, as long as loops still have to answer it.
Inspector::~Inspector() {
  core_->http.reset();
  detail::on_loop_and_wait(*core_->mailbox, [this](Loop& loop) { loop.cancel(core_->sampling); });
  on_loop([](Collector& collector) { collector.forget_all(); });
}

Result<std::unique_ptr<Inspector>> Inspector::start(std::string_view address, const InspectorOptions& options) {
  // The inspector uses epoll, because epoll is available everywhere and the speed does not matter.
  Result<std::unique_ptr<LoopGroup>> loop = LoopGroup::start(1, {.engine = "epoll"}, "peal-inspect");
  if (!loop) return std::unexpected(loop.error());
  auto inspector = std::make_unique<Inspector>((**loop)[0], options);
  inspector->own_loop_ = std::move(*loop);
  if (Result<SocketAddress> bound = inspector->listen(address); !bound) return std::unexpected(bound.error());
  return inspector;
}

Result<std::unique_ptr<Inspector>> Inspector::attach(Server& server, std::string_view address,
                                                     const InspectorOptions& options) {
  Result<std::unique_ptr<Inspector>> inspector = start(address, options);
  if (inspector) (*inspector)->add(server, options.name);
  return inspector;
}

Result<std::unique_ptr<Inspector>> Inspector::attach(HttpServer& server, std::string_view address,
                                                     const InspectorOptions& options) {
  Result<std::unique_ptr<Inspector>> inspector = start(address, options);
  if (inspector) (*inspector)->add(server, options.name);
  return inspector;
}

void Inspector::add(Server& server, std::string name) {
  on_loop([&](Collector& collector) { collector.add_server(std::move(name), server); });
}

void Inspector::add(HttpServer& server, std::string name) {
  if (core_->measure_routes) server.measure_routes();
  on_loop([&](Collector& collector) {
    collector.add_server(std::move(name), server.server(),
                         {.http = server.stats_views(), .routes = server.route_views()});
  });
}

void Inspector::add(CoServer& server, std::string name) {
  on_loop([&](Collector& collector) {
    collector.add_server(std::move(name), server.server(), {.tasks = [&server] { return server.tasks(); }});
  });
}

void Inspector::add(Server& server, std::string name, std::vector<std::function<std::vector<MethodStats>()>> methods) {
  on_loop(
      [&](Collector& collector) { collector.add_server(std::move(name), server, {.methods = std::move(methods)}); });
}

void Inspector::add(LoopGroup& group) {
  for (size_t i = 0; i < group.size(); ++i) add(group[i]);
}

void Inspector::add(Loop& loop) {
  on_loop([&](Collector& collector) { collector.add_loop(loop.mailbox()); });
}

void Inspector::add(StallWatchdog& watchdog) {
  on_loop([&](Collector& collector) { collector.add_watchdog(&watchdog); });
}

void Inspector::remove(Server& server) {
  on_loop([&](Collector& collector) { collector.remove_server(server); });
}

void Inspector::remove(HttpServer& server) { remove(server.server()); }

void Inspector::remove(CoServer& server) { remove(server.server()); }

void Inspector::remove(LoopGroup& group) {
  for (size_t i = 0; i < group.size(); ++i) remove(group[i]);
}

void Inspector::remove(Loop& loop) {
  on_loop([&](Collector& collector) { collector.remove_loop(*loop.mailbox()); });
}

void Inspector::remove(StallWatchdog& watchdog) {
  on_loop([&](Collector& collector) { collector.remove_watchdog(&watchdog); });
}

Result<SocketAddress> Inspector::listen(std::string_view address) {
  Result<SocketAddress> bound = core_->http->listen(address);
  if (bound && !address_.is_set()) address_ = *bound;
  return bound;
}

}  // namespace peal
