// SPDX-License-Identifier: BSD-3-Clause
// For tests: short duels of ping-pong servers, who plays in them, and what becomes of them.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <load/duel/duel_run.h>
#include <load/session/echo_session.h>

namespace peal::load {

// A contender that the duel starts.
inline DuelContender program(const std::string& name, std::vector<std::string> command) {
  return {.name = name, .command = std::move(command), .target_text = {}, .target = {}, .pid = {}};
}

// One short restart of them.
inline DuelOptions brief_duel(std::vector<DuelContender> contenders) {
  DuelOptions options;
  options.contenders = std::move(contenders);
  options.load.engine = "epoll";
  options.slice = std::chrono::milliseconds(5);
  options.rounds = 2;
  options.restarts = 1;
  options.patience.late = std::chrono::milliseconds(20);
  return options;
}

inline std::expected<DuelRecord, std::string> play(const DuelOptions& options, const OnDuelProgress& on_progress = {},
                                                   const PlaceMaker& where = place_here) {
  const DuelProtocol pingpong = [size = options.load.size](const DuelContender&, std::string_view) {
    return std::make_unique<EchoProtocol>(EchoProtocol::unframed(size));
  };
  return run_duel(options, pingpong, on_progress, where);
}

// The same of a duel that can be played; where it cannot, the test fails and there is a record without slices.
inline DuelRecord played(const DuelOptions& options, const OnDuelProgress& on_progress = {}) {
  std::expected<DuelRecord, std::string> record = play(options, on_progress);
  EXPECT_TRUE(record.has_value()) << record.error();
  return record.value_or(
      DuelRecord{.options = options, .sides = std::vector<DuelSideRecord>(options.contenders.size())});
}

// Why a duel cannot be played.
inline std::string fault_of(const DuelOptions& options, const OnDuelProgress& on_progress = {},
                            const PlaceMaker& where = place_here) {
  const std::expected<DuelRecord, std::string> record = play(options, on_progress, where);
  EXPECT_FALSE(record.has_value());
  return record ? std::string() : record.error();
}

}  // namespace peal::load
