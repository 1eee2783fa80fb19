// SPDX-License-Identifier: BSD-3-Clause
// DuelSide: one contender in one restart: its connections, on every thread of the generator, and what they hand over.
// One thread, that of the duel's loop; the lanes have threads of their own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <load/duel/duel_record.h>
#include <load/session/lane.h>
#include <peal/loop/loop_group.h>

namespace peal::load {

class DuelSide final : public LaneReports {
 public:
  // `options` says where. The lanes are called on the loops of `group`, which end before this does.
  DuelSide(const LoadOptions& options, std::unique_ptr<Protocol> protocol, LoopGroup& group, Loop& duel);

  // Opens the connections. settled(): all are open or have failed.
  void connect();
  bool settled() const { return settled_ == lanes_.size(); }
  // What is not open by now is not waited for.
  void give_up_connecting();
  // A slice: play() ... pause() ... quiet(): every answer is back. Or cut() ... quiet(): messages go on circulating,
  // and what is answered from then on belongs to the next slice.
  void play(TimePoint start);
  void pause();
  void cut();
  bool quiet() const { return cuts_left_ == 0; }
  // Of the slice before quiet(); what it measured has gone into `all`.
  SliceRecord take(DuelSideRecord& all);
  // No connection is left, and none will be tried.
  bool is_lost() const { return lost_lanes_ == lanes_.size(); }
  // Resets what is open. Then the group is stopped, and collect() takes the rest.
  void leave();
  void collect(DuelSideRecord& all);

 private:
  template <class Command>
  void tell_all(Command command);
  template <class Command>
  void end_slice(Command command);
  void on_settled(size_t) override { ++settled_; }
  void on_cut(size_t lane, Cut cut) override;
  void on_quiet(size_t) override {}
  void on_out_of_connections(size_t) override { ++lost_lanes_; }

  const LoadOptions options_;
  const std::unique_ptr<Protocol> protocol_;
  LoopGroup& group_;
  const RecordingParts parts_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t settled_ = 0;
  size_t lost_lanes_ = 0;
  size_t cuts_left_ = 0;
  Recording slice_;  // of all lanes
  Duration longest_{};
  uint64_t offered_ = 0;
  uint64_t resumed_before_ = 0;  // sessions of its layer
};

// What a side collected in a restart becomes a part of the whole.
void add_restart(const DuelSideRecord& restart, DuelSideRecord& all);

}  // namespace peal::load
