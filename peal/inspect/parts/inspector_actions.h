// SPDX-License-Identifier: BSD-3-Clause
// The actions of the inspector: set the log level, drain a server, end a connection. Each handler answers with one line
// of text. The caller has checked that the client may act.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/http/server/http_exchange.h>
#include <peal/inspect/parts/collector.h>
#include <peal/net/server.h>

namespace peal::detail {

// POST /actions/log_level?level=debug
void set_log_level(HttpExchange& exchange);
// POST /actions/drain?server=0. `on_drain` is InspectorOptions::on_drain.
void drain_server(HttpExchange& exchange, const Collector& collector, const CopyableCallback<void(Server&)>& on_drain);
// POST /actions/end?connection=0.1.17.203&how=drain, or how=abort
void end_connection(HttpExchange& exchange, Collector& collector);

}  // namespace peal::detail
