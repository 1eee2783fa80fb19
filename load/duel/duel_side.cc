// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_side.h>

#include <algorithm>
#include <utility>

#include <load/record/histogram_codec.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

// Returns the 50th and the 99th percentile of the latency. Both are 0 if the histogram is empty.
DuelPercentiles percentiles_of(const Histogram& latency) {
  if (latency.empty()) return {};
  return {.p50_ns = latency.value_at_percentile(50), .p99_ns = latency.value_at_percentile(99)};
}

void add_handshakes(const Handshakes& some, DuelSideRecord& all) {
  if (!all.handshakes) all.handshakes.emplace();
  all.handshakes->add(some);
}

}  // namespace

DuelSide::DuelSide(const LoadOptions& options, std::unique_ptr<Protocol> protocol, LoopGroup& group, Loop& duel)
    : options_(options),
      protocol_(std::move(protocol)),
      group_(group),
      parts_(recording_parts(options_, *protocol_)),
      slice_(parts_) {
  if (options_.layer != nullptr) resumed_before_ = options_.layer->stats().resumed;
  size_t first = 0;
  for (size_t i = 0; i < group_.size(); ++i) {
    const Lane::Setup setup{.number = i,
                            .first_connection = first,
                            .connections = share_of(options_.connections, i, group_.size()),
                            .idle_connections = share_of(options_.idle_connections, i, group_.size()),
                            .server = nullptr,
                            .in_slices = true};
    lanes_.push_back(std::make_unique<Lane>(setup, options_, *protocol_, group_[i], *this, duel.mailbox()));
    first += setup.connections + setup.idle_connections;
  }
}

template <class Command>
void DuelSide::tell_all(Command command) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    group_[i].post([lane = lanes_[i].get(), command] { command(*lane); });
  }
}

void DuelSide::connect() {
  tell_all([](Lane& lane) { lane.connect_all(); });
}

void DuelSide::give_up_connecting() {
  tell_all([](Lane& lane) { lane.give_up_connecting(); });
}

void DuelSide::play(TimePoint start) {
  tell_all([start](Lane& lane) { lane.play(start); });
}

template <class Command>
void DuelSide::end_slice(Command command) {
  PEAL_ASSERT(cuts_left_ == 0, "{} lanes have not ended the previous slice", cuts_left_);
  cuts_left_ = lanes_.size();
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto fresh = std::make_unique<Recording>(parts_);
    group_[i].post(
        [lane = lanes_[i].get(), command, fresh = std::move(fresh)]() mutable { command(*lane, std::move(fresh)); });
  }
}

void DuelSide::pause() {
  end_slice([](Lane& lane, std::unique_ptr<Recording> fresh) { lane.pause(std::move(fresh)); });
}

void DuelSide::cut() {
  end_slice([](Lane& lane, std::unique_ptr<Recording> fresh) { lane.cut(CutKind::kSlice, std::move(fresh)); });
}

void DuelSide::on_cut(size_t, Cut cut) {
  longest_ = std::max(longest_, cut.recording->span);
  offered_ += cut.due;
  slice_.add(*cut.recording);
  --cuts_left_;
}

SliceRecord DuelSide::take(DuelSideRecord& all) {
  const Recording slice = std::exchange(slice_, Recording(parts_));
  all.latency.add(slice.latency);
  all.connect.add(slice.connect);
  all.counts.add(slice.counts);
  if (slice.handshake) {
    const uint64_t resumed = options_.layer->stats().resumed;
    Handshakes handshakes{.resumed = resumed - std::exchange(resumed_before_, resumed)};
    handshakes.times = *slice.handshake;
    add_handshakes(handshakes, all);
  }
  const DuelPercentiles percentiles = percentiles_of(slice.latency);
  return {.messages = slice.counts.messages,
          .offered = std::exchange(offered_, 0),
          .span = std::exchange(longest_, {}),
          .server_cpu = std::nullopt,
          .client_cpu = slice.cpu,
          .spin = slice.spin,
          .p50_ns = percentiles.p50_ns,
          .p99_ns = percentiles.p99_ns};
}

void DuelSide::leave() {
  tell_all([](Lane& lane) { lane.leave_all(); });
}

void DuelSide::collect(DuelSideRecord& all) {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    all.failures.add(lane->failures());
    all.served += lane->served();
    if (options_.layer != nullptr) {
      add_handshakes({.failed = lane->handshakes_failed(), .agreed = lane->agreed()}, all);
    }
  }
}

void add_restart(const DuelSideRecord& restart, DuelSideRecord& all) {
  all.latency.add(restart.latency);
  all.latency_by_restart.push_back(percentiles_of(restart.latency));
  all.latency_by_restart.back().hdr = encode_histogram(restart.latency);
  all.connect.add(restart.connect);
  all.counts.add(restart.counts);
  all.failures.add(restart.failures);
  if (restart.handshakes) add_handshakes(*restart.handshakes, all);
  all.rss_bytes = std::max(all.rss_bytes, restart.rss_bytes);
  all.rss_by_restart.push_back(restart.rss_bytes);
  all.rss_start_by_restart.push_back(restart.rss_start_bytes);
  all.served_by_restart.push_back(restart.served);
  all.idle_cpu += restart.idle_cpu;
  all.idle_time += restart.idle_time;
  all.late_cpu += restart.late_cpu;
  all.charged_cpu += restart.charged_cpu;
  all.processes = restart.processes;
  all.forgets_children |= restart.forgets_children;
  all.has_orphans |= restart.has_orphans;
}

}  // namespace peal::load
