// SPDX-License-Identifier: BSD-3-Clause
// What the inspector answers to each path.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/http/server/router.h>
#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/inspector_access.h>

namespace peal::detail {

// The handlers run on the collector's loop and keep it and the rules alive. `on_drain` is InspectorOptions' own.
Router inspector_pages(const std::shared_ptr<Collector>& collector, InspectorRules rules,
                       CopyableCallback<void(Server&)> on_drain);

}  // namespace peal::detail
