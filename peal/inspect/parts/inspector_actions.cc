// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/inspector_actions.h>

#include <unistd.h>

#include <fmt/format.h>

#include <peal/base/log.h>
#include <peal/inspect/parts/held_by_parent.h>
#include <peal/inspect/parts/page_answers.h>

namespace peal::detail {
namespace {

constexpr Duration kDrainDeadline = std::chrono::seconds(30);

std::string_view query_text(HttpExchange& exchange, std::string_view key) {
  return exchange.query(key).value_or(std::string_view());
}

}  // namespace

void set_log_level(HttpExchange& exchange) {
  const std::string_view name = query_text(exchange, "level");
  const std::optional<LogLevel> level = parse_log_level(name);
  if (!level)
    return answer(exchange, 400, kTextType, "level must be trace, debug, info, warn, error, critical or off\n");
  peal::set_log_level(*level);
  answer(exchange, 200, kTextType, fmt::format("the log level is {}\n", to_string(*level)));
}

void drain_server(HttpExchange& exchange, const Collector& collector, const CopyableCallback<void(Server&)>& on_drain) {
  const auto number = exchange.query<size_t>("server");
  const std::shared_ptr<ServerLife> life = number ? collector.server(*number) : nullptr;
  if (!life || !life->run([](Server&) {}))
    return answer(exchange, 404, kTextType, "server must be the number of a server that the page shows\n");
  if (on_drain) {
    // The answer is queued before on_drain is called, and is sent when this callback has returned. So on_drain must
    // not end the process at once.
    answer(exchange, 202, kTextType, fmt::format("server {} drains as its program decides\n", *number));
    life->run([&](Server& server) { on_drain(server); });
    return;
  }
  if (const std::optional<pid_t> parent = parent_that_listens_too(); parent) {
    const std::string why = fmt::format(
        "process {} holds open the listening sockets of this process, so new clients would wait in a queue that no "
        "process accepts from; send SIGTERM to this process, {}, instead\n",
        *parent, ::getpid());
    return answer(exchange, 409, kTextType, why);
  }
  life->run([](Server& server) {
    server.drain(kDrainDeadline, [](const DrainReport& report) {
      PEAL_LOG_INFO("drained at the request of the inspector: {} finished, {} cut off", report.finished, report.forced);
    });
  });
  answer(exchange, 202, kTextType,
         fmt::format("server {} drains; connections that have not ended in 30 s are cut off\n", *number));
}

void end_connection(HttpExchange& exchange, Collector& collector) {
  const std::optional<ConnectionName> name = ConnectionName::parse(query_text(exchange, "connection"));
  const std::string_view how = query_text(exchange, "how");
  if (!name || (how != "drain" && how != "abort")) {
    return answer(exchange, 400, kTextType, "give connection=0.1.17.203 and how=drain or how=abort\n");
  }
  collector.end_connection(*name, how == "drain" ? EndHow::kDrain : EndHow::kAbort,
                           [handle = exchange.handle(), name = *name](std::optional<bool> found) {
                             const std::string which = "connection " + name.to_string();
                             handle.run([&](HttpExchange& later) {
                               if (!found) return answer(later, 503, kTextType, which + ": its loop does not answer\n");
                               if (!*found) return answer(later, 404, kTextType, which + " has ended already\n");
                               answer(later, 200, kTextType, which + " was asked to end\n");
                             });
                           });
}

}  // namespace peal::detail
