// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connections_view.h>

#include <algorithm>

#include <peal/net/parts/connection_set.h>

namespace peal {
namespace {

std::string peer_text(const Connection& connection) {
  const Result<SocketAddress> peer = connection.peer_address();
  return peer ? peer->to_string() : std::string();
}

uint64_t sort_key(Connection& connection, ConnectionSort by) {
  switch (by) {
    case ConnectionSort::kQueued: return connection.queued_bytes();
    case ConnectionSort::kReceived: return connection.received_bytes();
    case ConnectionSort::kSent: return connection.sent_bytes();
    case ConnectionSort::kKept: return connection.kept_input().size();
    case ConnectionSort::kAge: return static_cast<uint64_t>(detail::ConnectionSet::age(connection).count());
  }
  return 0;
}

}  // namespace

const std::shared_ptr<Mailbox>& ConnectionsView::mailbox() const { return set_->shared_mailbox(); }
size_t ConnectionsView::count() const { return set_->load().load(std::memory_order_relaxed); }
NetStats ConnectionsView::stats() const { return set_->stats_now(); }

std::optional<LayerStats> ConnectionsView::layer_stats() const {
  const StreamLayer* layer = set_->options().layer;
  // A retired set means that the server was destroyed. The user may have destroyed the layer after it, so the layer is
  // not asked.
  return layer == nullptr || set_->retired() ? std::nullopt : std::optional(layer->stats());
}

ConnectionList ConnectionsView::list(const ConnectionQuery& query) const {
  std::vector<std::pair<uint64_t, const Connection*>> found;
  set_->each([&](Connection& connection) {
    if (!query.state.empty() && to_string(connection.life()) != query.state) return;
    if (!query.search.empty() && !peer_text(connection).contains(query.search)) return;
    const uint64_t key = sort_key(connection, query.sort);
    // The complement of a key sorts the other way round.
    found.emplace_back(query.ascending ? ~key : key, &connection);
  });
  ConnectionList list{.matched = found.size()};
  const size_t count = std::min(query.most, found.size());
  const auto end = found.begin() + static_cast<ptrdiff_t>(count);
  std::ranges::partial_sort(found, end, [](const auto& a, const auto& b) { return a.first > b.first; });
  list.facts.reserve(count);
  list.ranks.reserve(count);
  for (auto each = found.begin(); each != end; ++each) {
    list.facts.push_back(each->second->facts());
    list.ranks.push_back(each->first);
  }
  return list;
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
