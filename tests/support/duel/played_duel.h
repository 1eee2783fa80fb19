// SPDX-License-Identifier: BSD-3-Clause
// Helpers that run short duels and return their records or their errors. A duel compares two or more servers under the
// same load.
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

// Returns a contender: a server that takes part in a duel. The duel starts the server with `command`.
inline DuelContender program(const std::string& name, std::vector<std::string> command) {
  return {.name = name, .command = std::move(command), .target_text = {}, .target = {}, .pid = {}};
}

// Returns the options of a short duel. The duel starts each server once. It then puts load on one server at a time, for
// 5 ms each.
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

// Runs a duel that is expected to succeed. If the duel fails, the test fails and the returned record contains no
// measurements.
inline DuelRecord played(const DuelOptions& options, const OnDuelProgress& on_progress = {}) {
  std::expected<DuelRecord, std::string> record = play(options, on_progress);
  EXPECT_TRUE(record.has_value()) << record.error();
  return record.value_or(
      DuelRecord{.options = options, .sides = std::vector<DuelSideRecord>(options.contenders.size())});
}

// Runs a duel that is expected to fail, and returns its error.
inline std::string fault_of(const DuelOptions& options, const OnDuelProgress& on_progress = {},
                            const PlaceMaker& where = place_here) {
  const std::expected<DuelRecord, std::string> record = play(options, on_progress, where);
  EXPECT_FALSE(record.has_value());
  return record ? std::string() : record.error();
}

}  // namespace peal::load
