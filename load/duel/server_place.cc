// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/server_place.h>

#include <algorithm>

#include <load/duel/servers_here.h>

namespace peal::load {

PlaceHere::PlaceHere(DuelLoop& loop, const DuelOptions& options) : loop_(loop) {
  if (std::ranges::any_of(options.contenders, &DuelContender::restarts)) orphans_.emplace();
}

CpuPins PlaceHere::pins(const DuelOptions& options) {
  // The servers and the generator are pinned to CPUs only if the duel starts all servers. The duel does not pin a
  // server that was already running, so that server may use all its CPUs. The pinned servers may use only
  // `server_threads` CPUs, so the comparison would be unfair.
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
