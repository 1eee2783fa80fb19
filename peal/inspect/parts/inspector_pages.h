// SPDX-License-Identifier: BSD-3-Clause
// The handlers of the inspector's HTTP server: which path shows which page, and which path is which action.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/http/server/router.h>
#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/history.h>
#include <peal/inspect/parts/inspector_access.h>

namespace peal::detail {

// What the pages show, and what they may do.
struct InspectorSources {
  std::shared_ptr<Collector> collector;
  std::shared_ptr<const History> history;
  InspectorRules rules;
  CopyableCallback<void(Server&)> on_drain;  // InspectorOptions::on_drain
  size_t most_connections = 0;               // InspectorOptions::most_connections
};

// Returns the router with all handlers. The handlers run on the collector's loop, and own the sources.
Router inspector_pages(InspectorSources sources);

}  // namespace peal::detail
