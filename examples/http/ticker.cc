// SPDX-License-Identifier: BSD-3-Clause
// A web page with a clock that the server updates: http://127.0.0.1:8084/ is the page, /ticks is the stream of events.
// `ticker [ADDRESS [MILLISECONDS]]` sends a tick every MILLISECONDS, 1000 by default. Try
// `curl -N http://127.0.0.1:8084/ticks` as well.
#include <chrono>
#include <ctime>
#include <string>

#include <examples/shared/service.h>
#include <fmt/chrono.h>

#include <peal/http/server/event_stream.h>
#include <peal/http/server/http_server.h>
#include <peal/wire/parse_text.h>

namespace {

constexpr std::string_view kPage = R"(<!doctype html>
<meta charset="utf-8"><link rel="icon" href="data:,"><title>ticker</title>
<h1 id="time">...</h1><p><span id="watchers">0</span> watching, <span id="missed">0</span> ticks missed</p>
<script>
"use strict";
const show = (id) => (event) => { document.getElementById(id).textContent = event.data; };
const ticks = new EventSource("/ticks");
for (const id of ["time", "watchers", "missed"]) ticks.addEventListener(id, show(id));
</script>
)";

size_t number(std::string_view text) { return peal::parse_text<size_t>(text).value_or(0); }

}  // namespace

int main(int argc, char** argv) {
  using namespace peal;
  const size_t period = number(examples::argument(argc, argv, 2, "1000"));
  if (period == 0 || period > 3'600'000) {
    fmt::print(stderr, "usage: ticker [ADDRESS [MILLISECONDS]]\n");
    return 2;
  }
  Loop loop;
  size_t ticks = 0;
  Router router;
  router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "text/html; charset=utf-8", kPage); });
  // Quoted in docs: [stream]
  EventChannel watchers;
  router.get("/ticks", [&](HttpExchange& exchange) {
    const EventStream stream(exchange);
    // A browser that reconnects sends the id of the last tick that it has received. `last` is 0 if the browser sends no
    // id, because it connects for the first time. The server sends the number of ticks since that id. A restarted
    // server counts ticks from 0 again. If `ticks` has not passed `last` yet, no number is sent. If `ticks` has passed
    // `last`, the number is too small.
    const size_t last = number(stream.last_event_id());
    if (last > 0 && last < ticks) stream.send({.event = "missed", .data = fmt::to_string(ticks - last)});
    watchers.add(stream);
  });
  loop.every(std::chrono::milliseconds(period), [&] {
    const std::time_t now = std::time(nullptr);
    watchers.send({.event = "watchers", .data = fmt::to_string(watchers.size())});
    watchers.send({.event = "time", .id = fmt::to_string(++ticks), .data = fmt::format("{:%T}", fmt::localtime(now))});
  });
  // End of quote: [stream]
  HttpServer server(loop, std::move(router));
  return examples::listen(server.server(), examples::argument(argc, argv, 1, "127.0.0.1:8084")) ? examples::run(loop)
                                                                                                : 1;
}
