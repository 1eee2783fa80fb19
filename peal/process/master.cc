// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/master.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/base/log.h>
#include <peal/process/parts/handover.h>
#include <peal/process/parts/master_run.h>
#include <peal/process/parts/socket_group.h>

namespace peal {

Master::Master(MasterOptions options) : options_(std::move(options)), inherited_(take_listen_fds()) {
  detail::Predecessor predecessor = detail::take_predecessor();
  predecessor_ = std::move(predecessor.report_to);
  inherited_with_files_ = std::move(predecessor.fds_with_files);
  if (options_.workers == 0) throw_bad_value("a master needs workers");
}

Master::~Master() = default;

Result<SocketAddress> Master::listen(std::string_view address, const ListenOptions& options, std::string_view name) {
  if (name.empty() || name.contains(':')) return fail(EINVAL);
  std::vector<detail::InheritedListener> sockets = take_inherited(name);
  if (sockets.empty()) return open(address, options, name);
  Result<std::vector<detail::SocketGroup>> groups = detail::SocketGroup::inherit(std::string(name), std::move(sockets));
  if (!groups) return std::unexpected(groups.error());
  for (size_t i = 1; i < groups->size(); ++i) {
    PEAL_LOG_INFO("{} is inherited with {}", (*groups)[i].address().to_string(), groups->front().address().to_string());
  }
  const SocketAddress first = groups->front().address();
  std::ranges::move(*groups, std::back_inserter(groups_));
  return first;
}

std::vector<detail::InheritedListener> Master::take_inherited(std::string_view name) {
  const bool named =
      std::ranges::any_of(inherited_, [&](const InheritedSocket& socket) { return socket.name == name; });
  const bool any = !named && groups_.empty();
  std::vector<detail::InheritedListener> sockets;
  for (InheritedSocket& socket : inherited_) {
    if (!any && socket.name != name) continue;
    const bool with_file = std::ranges::find(inherited_with_files_, socket.fd.get()) != inherited_with_files_.end();
    sockets.push_back({.socket = std::move(socket.fd), .with_file = with_file});
  }
  std::erase_if(inherited_, [](const InheritedSocket& socket) { return !socket.fd; });
  return sockets;
}

Result<SocketAddress> Master::open(std::string_view address, const ListenOptions& options, std::string_view name) {
  const Result<SocketAddress> parsed = SocketAddress::parse(address);
  if (!parsed) return parsed;
  const bool there = std::ranges::any_of(groups_, [&](const detail::SocketGroup& group) {
    return group.inherited() && group.name() == name && group.address() == *parsed;
  });
  if (there) return parsed;
  Result<detail::SocketGroup> group = detail::SocketGroup::open(std::string(name), *parsed, options);
  if (!group) return std::unexpected(group.error());
  groups_.push_back(std::move(*group));
  return groups_.back().address();
}

int Master::run(const Work& work) {
  for (const InheritedSocket& socket : inherited_) PEAL_LOG_WARN("nobody wants the inherited socket {}", socket.name);
  inherited_.clear();
  return detail::MasterRun(options_, groups_, work, std::move(predecessor_)).run();
}

}  // namespace peal
