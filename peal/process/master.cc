// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/master.h>

#include <algorithm>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/process/parts/handover.h>
#include <peal/process/parts/master_run.h>
#include <peal/process/parts/socket_group.h>

namespace peal {

Master::Master(MasterOptions options)
    : options_(std::move(options)), inherited_(take_listen_fds()), predecessor_(detail::take_predecessor()) {
  PEAL_ASSERT(options_.workers > 0, "a master needs workers");
}

Master::~Master() = default;

Result<SocketAddress> Master::listen(std::string_view address, const ListenOptions& options, std::string_view name) {
  PEAL_ASSERT(!name.empty() && !name.contains(':'), "'{}' cannot name a socket", name);
  Result<detail::SocketGroup> group = find(address, options, name);
  if (!group) return std::unexpected(group.error());
  groups_.push_back(std::move(*group));
  return groups_.back().address();
}

Result<detail::SocketGroup> Master::find(std::string_view address, const ListenOptions& options,
                                         std::string_view name) {
  const bool named =
      std::ranges::any_of(inherited_, [&](const InheritedSocket& socket) { return socket.name == name; });
  const bool any = !named && groups_.empty();
  std::vector<Fd> sockets;
  for (InheritedSocket& socket : inherited_) {
    if (any || socket.name == name) sockets.push_back(std::move(socket.fd));
  }
  std::erase_if(inherited_, [](const InheritedSocket& socket) { return !socket.fd; });
  if (!sockets.empty()) return detail::SocketGroup::inherit(std::string(name), std::move(sockets));
  const Result<SocketAddress> parsed = SocketAddress::parse(address);
  if (!parsed) return std::unexpected(parsed.error());
  return detail::SocketGroup::open(std::string(name), *parsed, options);
}

int Master::run(const Work& work) {
  for (const InheritedSocket& socket : inherited_) PEAL_LOG_WARN("nobody wants the inherited socket {}", socket.name);
  inherited_.clear();
  return detail::MasterRun(options_, groups_, work, std::move(predecessor_)).run();
}

}  // namespace peal
