// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connections_view.h>

#include <algorithm>

#include <peal/net/parts/connection_set.h>

namespace peal {

const std::shared_ptr<Mailbox>& ConnectionsView::mailbox() const { return set_->shared_mailbox(); }
size_t ConnectionsView::count() const { return set_->load().load(std::memory_order_relaxed); }
NetStats ConnectionsView::stats() const { return set_->stats_now(); }

std::optional<LayerStats> ConnectionsView::layer_stats() const {
  const StreamLayer* layer = set_->options().layer;
  // A retired set means that the server was destroyed. The user may have destroyed the layer after it, so the layer is
  // not asked.
  return layer == nullptr || set_->retired() ? std::nullopt : std::optional(layer->stats());
}

std::vector<ConnectionFacts> ConnectionsView::list(size_t most) const {
  std::vector<std::pair<size_t, const Connection*>> found;
  set_->each([&found](Connection& connection) { found.emplace_back(connection.queued_bytes(), &connection); });
  const auto end = found.begin() + static_cast<ptrdiff_t>(std::min(most, found.size()));
  std::ranges::partial_sort(found, end, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<ConnectionFacts> facts;
  facts.reserve(std::min(most, found.size()));
  for (auto each = found.begin(); each != end; ++each) facts.push_back(each->second->facts());
  return facts;
}

std::optional<ConnectionFacts> ConnectionsView::find(uint32_t slot, uint32_t generation) const {
  const Connection* connection = set_->find(slot, generation);
  return connection == nullptr ? std::nullopt : std::optional(connection->facts());
}

std::vector<FlightEvent> ConnectionsView::flight(uint32_t slot, uint32_t generation, size_t most) const {
  const FlightRecorder* recorder = set_->loop().flight_recorder();
  const FlightId id{.owner = set_.get(), .generation = generation, .slot = slot};
  return recorder == nullptr ? std::vector<FlightEvent>() : recorder->last(id, most);
}

bool ConnectionsView::end(uint32_t slot, uint32_t generation, EndHow how) const {
  Connection* connection = set_->find(slot, generation);
  if (connection == nullptr) return false;
  if (how == EndHow::kAbort) {
    connection->abort();
  } else {
    set_->drain_one(*connection);
  }
  return true;
}

}  // namespace peal
