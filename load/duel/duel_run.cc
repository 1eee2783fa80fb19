// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_run.h>

#include <algorithm>
#include <optional>
#include <random>

#include <fmt/format.h>

#include <load/duel/cpu_pins.h>
#include <load/duel/duel_judge.h>
#include <load/duel/duel_loop.h>
#include <load/duel/duel_restart.h>
#include <load/report/report_text.h>
#include <peal/base/assert.h>

namespace peal::load {

std::expected<DuelRecord, std::string> run_duel(const DuelOptions& options, const DuelProtocol& protocol,
                                                const OnDuelProgress& on_progress, const PlaceMaker& where) {
  const std::string trouble = duel_trouble(options);
  PEAL_ASSERT(trouble.empty(), "{}", trouble);
  Result<std::unique_ptr<DuelLoop>> loop = DuelLoop::make();
  if (!loop)
    return std::unexpected(fmt::format("the generator's event loop cannot be made: {}", loop.error().message()));

  DuelRecord record{.options = options};
  record.sides.resize(options.contenders.size());
  std::expected<std::unique_ptr<ServerPlace>, std::string> place = where(**loop, options);
  if (!place) return std::unexpected(place.error());
  const CpuPins pins = (*place)->pins(options);
  record.server_cpus = pins.server;
  record.client_cpus = pins.client;
  const PinnedHere pinned(pins.client);

  std::mt19937_64 random(options.load.seed);
  const TimePoint began = (*loop)->now();
  const auto elapsed = [&] { return (*loop)->now() - began; };
  size_t wanted = options.restarts > 0 ? options.restarts : kPilotRestarts;
  Duration longest{};
  while (record.restarts < wanted && (record.restarts == 0 || elapsed() + longest <= options.budget)) {
    const Duration before = elapsed();
    (*loop)->end_at(began + options.budget + (record.restarts == 0 ? options.patience.first : Duration::zero()));
    const auto played = play_restart(
        **loop, protocol, [&] { return (*place)->crew(options, pins); }, random, record,
        [&](size_t rounds) {
          if (on_progress) on_progress({record, rounds, wanted, elapsed()});
        });
    if (!played) return std::unexpected(played.error());
    const bool somebody_plays =
        std::ranges::any_of(record.sides, [](const DuelSideRecord& side) { return side.fault.empty(); });
    if ((*loop)->stopped() || !somebody_plays) break;
    longest = std::max(longest, elapsed() - before);
    if (options.restarts > 0 || record.restarts != kPilotRestarts) continue;
    wanted = restarts_wanted(record);
  }
  record.elapsed = elapsed();
  record.interrupted = (*loop)->interrupted();
  if (record.restarts > 0) {
    std::expected<std::optional<ServerHost>, std::string> host = (*place)->host();
    if (!host) return std::unexpected(host.error());
    record.server_host = std::move(*host);
    return record;
  }
  if (record.interrupted) return std::unexpected(std::string(kDuelInterruptedEarly));
  return std::unexpected(
      fmt::format("the budget of {} ended before the first restart: raise --budget or lower --connections",
                  human_time(options.budget)));
}

}  // namespace peal::load
