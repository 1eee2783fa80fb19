// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/server_place.h>

#include <algorithm>

#include <load/duel/servers_here.h>

namespace peal::load {

PlaceHere::PlaceHere(DuelLoop& loop, const DuelOptions& options) : loop_(loop) {
  if (std::ranges::any_of(options.contenders, &DuelContender::restarts)) orphans_.emplace();
}

CpuPins PlaceHere::pins(const DuelOptions& options) {
  // Who runs already is where it is: beside others that are pinned it would be somewhere else than they.
  if (!options.pin || !options.restart_all()) return {};
  return CpuPins::of(options.server_threads, options.load.threads);
}

std::unique_ptr<ServerCrew> PlaceHere::crew(const DuelOptions& options, const CpuPins& pins) {
  return std::make_unique<ServersHere>(
      loop_, CrewOptions{.places = options.contenders.size(), .threads = options.server_threads, .cpus = pins.server});
}

std::expected<std::unique_ptr<ServerPlace>, std::string> place_here(DuelLoop& loop, const DuelOptions& options) {
  return std::make_unique<PlaceHere>(loop, options);
}

}  // namespace peal::load
