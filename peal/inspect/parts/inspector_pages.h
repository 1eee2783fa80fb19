// SPDX-License-Identifier: BSD-3-Clause
// The handlers of the inspector's HTTP server: which path shows which page, and which path is which action.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/http/server/router.h>
#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/inspector_access.h>

namespace peal::detail {

// Returns the router with all handlers. The handlers run on the collector's loop, and own the collector and the rules.
// `on_drain` is InspectorOptions::on_drain.
Router inspector_pages(const std::shared_ptr<Collector>& collector, InspectorRules rules,
                       CopyableCallback<void(Server&)> on_drain);

}  // namespace peal::detail
