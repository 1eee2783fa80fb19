// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/socket_group.h>

#include <algorithm>
#include <utility>

#include <peal/engine/listening_socket.h>

namespace peal::detail {

Result<SocketGroup> SocketGroup::open(std::string name, const SocketAddress& address, const ListenOptions& options) {
  SocketGroup group;
  group.name_ = std::move(name);
  group.options_ = options;
  group.options_.reuse_port = false;
  if (address.is_ip() && address.port() != 0) {
    // The port is probed without SO_REUSEPORT. With SO_REUSEPORT, this process would share the port with another
    // program of the same user.
    if (const Result<Fd> probe = open_listening_socket(address, group.options_); !probe) {
      return std::unexpected(probe.error());
    }
  }
  group.options_.reuse_port = address.is_ip();
  Result<Fd> first = open_listening_socket(address, group.options_);
  if (!first) return std::unexpected(first.error());
  group.file_ = SocketFile::of(first->get());
  group.sockets_.push_back(std::move(*first));
  const Result<SocketAddress> bound = listening_address(group.sockets_.front().get());
  if (!bound) return std::unexpected(bound.error());
  group.address_ = *bound;
  return group;
}

Result<std::vector<SocketGroup>> SocketGroup::inherit(const std::string& name, std::vector<InheritedListener> sockets) {
  std::vector<SocketGroup> groups;
  for (auto& [socket, with_file] : sockets) {
    const Result<SocketAddress> address = listening_address(socket.get());
    if (!address) return std::unexpected(address.error());
    auto group = std::ranges::find(groups, *address, &SocketGroup::address_);
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->name_ = name;
      group->address_ = *address;
      group->inherited_ = true;
      if (with_file) group->file_ = SocketFile::of(socket.get());
    }
    group->sockets_.push_back(std::move(socket));
  }
  return groups;
}

Result<void> SocketGroup::open_for_workers(size_t workers) {
  if (!address_.is_ip() || inherited_) return {};
  while (sockets_.size() < workers) {
    Result<Fd> next = open_listening_socket(address_, options_);
    if (!next) return std::unexpected(next.error());
    sockets_.push_back(std::move(*next));
  }
  return {};
}

std::vector<ListeningSocket> SocketGroup::take_share(size_t place, size_t workers) && {
  const size_t count = sockets_.size();
  std::vector<ListeningSocket> own;
  if (count < workers) {
    own.push_back({name_, std::move(sockets_[place % count]), true});
  } else {
    for (size_t i = place; i < count; i += workers) own.push_back({name_, std::move(sockets_[i]), false});
  }
  sockets_.clear();
  return own;
}

void SocketGroup::close() {
  for (Fd& socket : sockets_) {
    close_listening_socket(std::move(socket), file_);
  }
  sockets_.clear();
}

}  // namespace peal::detail
