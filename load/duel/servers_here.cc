// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/servers_here.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include <load/process_files.h>
#include <load/report/report_text.h>
#include <peal/base/assert.h>

namespace peal::load {

ServersHere::ServersHere(DuelLoop& loop, CrewOptions options)
    : loop_(loop), options_(std::move(options)), servers_(options_.places), probes_(options_.places) {}

ServerCrew::Trouble ServersHere::start(size_t place, const std::vector<std::string>& words) {
  PEAL_ASSERT(place < servers_.size() && !servers_[place], "place {} of {} is taken or does not exist", place,
              servers_.size());
  auto server = ServerProcess::start(loop_.loop(), words, options_.threads, options_.cpus, options_.host);
  if (!server) return ServerFault{place, server.error()};
  servers_[place] = std::move(*server);
  return std::nullopt;
}

ServerCrew::Trouble ServersHere::await_listening(Duration patience) {
  const auto all_listen = [this] {
    return std::ranges::all_of(servers_, [this](auto& server) { return !server || server->listens(loop_.now()); });
  };
  const bool listen = loop_.until_seen(loop_.now() + patience, [&] { return all_listen() || who_ended().has_value(); });
  if (Trouble trouble = who_ended()) return trouble;
  if (listen) return find_clocks();
  if (loop_.stopped()) return std::nullopt;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i] || servers_[i]->listens(loop_.now())) continue;
    return ServerFault{i, fmt::format("it does not listen at its address after {}", human_time(patience))};
  }
  return find_clocks();
}

ServerCrew::Trouble ServersHere::find_clocks() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i] || probes_[i]) continue;
    Result<ServerProbe> probe = ServerProbe::of(servers_[i]->pid());
    if (!probe) {
      return ServerFault{i, fmt::format("there is no process {}, or its CPU time is hidden", servers_[i]->pid())};
    }
    probes_[i] = std::move(*probe);
  }
  return std::nullopt;
}

ServerCrew::Trouble ServersHere::who_ended() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) continue;
    if (const std::optional<std::string> how = servers_[i]->ended()) {
      return ServerFault{i, fmt::format("the server ended by itself: {}", *how)};
    }
  }
  return std::nullopt;
}

std::expected<ServerLook, ServerFault> ServersHere::look(size_t place) {
  PEAL_ASSERT(probes_[place].has_value(), "await_listening() has not found a server at place {}", place);
  const Result<ServerLook> look = probes_[place]->look();
  if (look) return *look;
  if (Trouble trouble = who_ended()) return std::unexpected(std::move(*trouble));
  return std::unexpected(ServerFault{place, fmt::format("its process {} is gone", servers_[place]->pid())});
}

std::vector<size_t> ServersHere::who_left_orphans() {
  const std::vector<int> orphans = orphans_.find();
  std::vector<size_t> places;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const auto is_its = [&](int orphan) {
      const Result<ProcessStat> stat = read_process_stat(orphan);
      return stat && stat->alive && servers_[i]->has_started(orphan);
    };
    if (servers_[i] && std::ranges::any_of(orphans, is_its)) places.push_back(i);
  }
  return places;
}

void ServersHere::end(Duration patience) {
  for (const auto& server : servers_) {
    if (server) server->ask_to_end();
  }
  for (const int orphan : orphans_.find()) ::kill(orphan, SIGTERM);
  const auto all_ended = [this] {
    return std::ranges::all_of(servers_, [](const auto& server) { return !server || server->is_gone(); });
  };
  // Waits at most `patience` for the servers to end. A server that still runs is killed later, by the destructor of its
  // ServerProcess.
  const TimePoint limit = loop_.now() + patience;
  const TimerId look = loop_.loop().every(std::chrono::milliseconds(2), [] {});
  while (!all_ended() && loop_.now() < limit) loop_.loop().step();
  loop_.loop().cancel(look);
  orphans_.end();
}

}  // namespace peal::load
