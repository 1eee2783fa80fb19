// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/servers_there.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

bool is_this_machine(const MachineFacts& machine) {
  return !machine.boot.empty() && machine.boot == facts_of_this_machine().boot;
}

bool is_loopback(const SocketAddress& address) {
  const std::string text = address.to_string();
  return text.starts_with("127.") || text.starts_with("[::1]");
}

std::expected<MachineClocks, std::string> clocks_of(AgentLink& link) {
  const std::expected<AgentAnswer, ServerFault> answer = link.ask({.task = AgentTask::kClocks});
  if (!answer) return std::unexpected(answer.error().sentence);
  return std::get<MachineClocks>(*answer);
}

}  // namespace

ServersThere::ServersThere(AgentLink& link, AgentRequest crew)
    : link_(link), crew_(std::move(crew)), addresses_(crew_.places) {}

ServerCrew::Trouble ServersThere::do_there(const AgentRequest& request) {
  std::expected<AgentAnswer, ServerFault> answer = link_.ask(request);
  if (!answer) return std::move(answer.error());
  return std::nullopt;
}

bool ServersThere::has_any() const { return std::ranges::any_of(addresses_, &SocketAddress::is_set); }

ServerCrew::Trouble ServersThere::start(size_t place, const std::vector<std::string>& words) {
  if (!std::exchange(is_made_, true)) {
    if (Trouble trouble = do_there(crew_)) return trouble;
  }
  std::expected<AgentAnswer, ServerFault> answer =
      link_.ask({.task = AgentTask::kStart, .place = place, .words = words});
  if (!answer) return std::move(answer.error());
  addresses_[place] = std::get<AgentStarted>(*answer).address;
  return std::nullopt;
}

ServerCrew::Trouble ServersThere::await_listening(Duration patience) {
  if (!has_any()) return std::nullopt;
  return do_there({.task = AgentTask::kAwait, .patience = patience});
}

ServerCrew::Trouble ServersThere::who_ended() {
  if (!has_any()) return std::nullopt;
  return do_there({.task = AgentTask::kEnded});
}

std::expected<ServerLook, ServerFault> ServersThere::look(size_t place) {
  std::expected<AgentAnswer, ServerFault> answer = link_.ask({.task = AgentTask::kLook, .place = place});
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::get<ServerLook>(*answer);
}

std::vector<size_t> ServersThere::who_left_orphans() {
  if (!has_any()) return {};
  std::expected<AgentAnswer, ServerFault> answer = link_.ask({.task = AgentTask::kOrphans});
  // If ask() returns an error, the link to the agent has failed. who_left_orphans() cannot return an error, so it
  // returns no places. The error is not lost, because AgentLink keeps it and returns it for every later request.
  if (!answer) return {};
  std::vector<size_t> places = std::move(std::get<AgentOrphans>(*answer).places);
  std::erase_if(places, [this](size_t place) { return place >= addresses_.size(); });
  return places;
}

void ServersThere::end(Duration patience) {
  if (is_made_) static_cast<void>(do_there({.task = AgentTask::kEnd, .patience = patience}));
}

PlaceThere::PlaceThere(std::unique_ptr<AgentLink> link, const SocketAddress& address, const MachineClocks& began)
    : link_(std::move(link)), address_(address), began_(began), is_here_(is_this_machine(link_->machine())) {}

CpuPins PlaceThere::pins(const DuelOptions& options) {
  if (!options.pin || !options.restart_all()) return {};
  // If the agent runs on this machine, the servers and the load generator must share its CPUs, so CpuPins::of() divides
  // the CPUs between them. Otherwise, the generator gets CPUs of this machine, and the servers get CPUs of the agent's
  // machine.
  if (is_here_) return CpuPins::of(options.server_threads, options.load.threads);
  CpuPins pins = CpuPins::of(0, options.load.threads);
  const std::vector<int>& cpus = link_->machine().cpus;
  if (cpus.size() >= options.server_threads) {
    pins.server = {cpus.begin(), cpus.begin() + static_cast<ptrdiff_t>(options.server_threads)};
  }
  return pins;
}

std::unique_ptr<ServerCrew> PlaceThere::crew(const DuelOptions& options, const CpuPins& pins) {
  return std::make_unique<ServersThere>(*link_, AgentRequest{.task = AgentTask::kCrew,
                                                             .places = options.contenders.size(),
                                                             .threads = options.server_threads,
                                                             .cpus = pins.server,
                                                             .host = address_});
}

std::expected<std::optional<ServerHost>, std::string> PlaceThere::host() {
  const std::expected<MachineClocks, std::string> now = clocks_of(*link_);
  if (!now) return std::unexpected(now.error());
  const MachineFacts& machine = link_->machine();
  const Duration others = now->busy - began_.busy - (now->own - began_.own);
  return ServerHost{.name = link_->host().name,
                    .address = host_of(address_),
                    .kernel = machine.kernel,
                    .processor = machine.processor,
                    .cpus = machine.cpus.size(),
                    .is_here = is_here_,
                    .elapsed = now->at - began_.at,
                    .stolen = now->stolen - began_.stolen,
                    .foreign = std::max(others, Duration::zero())};
}

PlaceMaker place_there(RemoteHost host) {
  return [host = std::move(host)](DuelLoop& loop,
                                  const DuelOptions&) -> std::expected<std::unique_ptr<ServerPlace>, std::string> {
    std::expected<std::unique_ptr<AgentLink>, std::string> link = AgentLink::open(loop, host);
    if (!link) return std::unexpected(link.error());
    const MachineFacts& machine = (*link)->machine();
    const SocketAddress address = host.address.is_set() ? host.address : ip_address(machine.address);
    if (!address.is_set()) {
      return std::unexpected(fmt::format(
          "{}: the agent says that servers are reached at '{}', which is no IP address: give one with --server-address",
          host.name, machine.address));
    }
    if (is_loopback(address) && !is_this_machine(machine)) {
      return std::unexpected(
          fmt::format("{}: servers that listen at {} there cannot be reached from here: give another --server-address",
                      host.name, host_of(address)));
    }
    const std::expected<MachineClocks, std::string> began = clocks_of(**link);
    if (!began) return std::unexpected(began.error());
    return std::make_unique<PlaceThere>(std::move(*link), address, *began);
  };
}

}  // namespace peal::load
