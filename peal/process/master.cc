// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/master.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>
#include <peal/process/parts/handover.h>
#include <peal/process/parts/master_run.h>
#include <peal/process/parts/socket_group.h>

namespace peal {

Master::Master(MasterOptions options) : options_(std::move(options)), inherited_(take_listen_fds()) {
  detail::Predecessor predecessor = detail::take_predecessor();
  predecessor_ = std::move(predecessor.report_to);
  inherited_with_files_ = std::move(predecessor.fds_with_files);
  if (options_.workers == 0) throw_bad_value("MasterOptions::workers is 0: a master needs at least one worker");
}

Master::~Master() = default;

Result<SocketAddress> Master::listen(std::string_view address, const ListenOptions& options, std::string_view name) {
  if (name.empty() || name.contains(':')) return fail(EINVAL);
  Result<std::vector<detail::InheritedListener>> sockets = take_inherited(name);
  if (!sockets) return std::unexpected(sockets.error());
  if (sockets->empty()) return open(address, options, name);
  auto groups = detail::SocketGroup::inherit(std::string(name), std::move(*sockets));
  if (!groups) return std::unexpected(groups.error());
  for (size_t i = 1; i < groups->size(); ++i) {
    PEAL_LOG_INFO("listening at the inherited {}, too, besides {}", (*groups)[i].address().to_string(),
                  groups->front().address().to_string());
  }
  const SocketAddress first = groups->front().address();
  std::ranges::move(*groups, std::back_inserter(groups_));
  return first;
}

Result<std::vector<detail::InheritedListener>> Master::take_inherited(std::string_view name) {
  std::vector<InheritedSocket> taken = take_named(inherited_, name, groups_.empty());
  for (const InheritedSocket& socket : taken) {
    const Result<SocketAddress> listens = listening_address(socket.fd.get());
    if (listens) continue;
    std::ranges::move(taken, std::back_inserter(inherited_));
    return std::unexpected(listens.error());
  }
  std::vector<detail::InheritedListener> sockets;
  for (InheritedSocket& socket : taken) {
    const bool with_file = std::ranges::find(inherited_with_files_, socket.fd.get()) != inherited_with_files_.end();
    sockets.push_back({.socket = std::move(socket.fd), .with_file = with_file});
  }
  return sockets;
}

std::vector<SocketAddress> Master::addresses() const {
  std::vector<SocketAddress> all;
  for (const detail::SocketGroup& group : groups_) {
    if (std::ranges::find(all, group.address()) == all.end()) all.push_back(group.address());
  }
  return all;
}

Result<SocketAddress> Master::open(std::string_view address, const ListenOptions& options, std::string_view name) {
  const Result<SocketAddress> parsed = SocketAddress::parse(address);
  if (!parsed) return parsed;
  const bool already_open = std::ranges::any_of(groups_, [&](const detail::SocketGroup& group) {
    return group.inherited() && group.name() == name && group.address() == *parsed;
  });
  if (already_open) return parsed;
  Result<detail::SocketGroup> group = detail::SocketGroup::open(std::string(name), *parsed, options);
  if (!group) return std::unexpected(group.error());
  groups_.push_back(std::move(*group));
  return groups_.back().address();
}

int Master::run(const Work& work) {
  for (const InheritedSocket& socket : inherited_)
    PEAL_LOG_WARN("no listener uses the inherited {}: closed", describe(socket));
  inherited_.clear();
  return detail::MasterRun(options_, groups_, work, std::move(predecessor_)).run();
}

}  // namespace peal
