// SPDX-License-Identifier: BSD-3-Clause
// SocketGroup: the listening sockets of one address, which the master holds open for all its workers.
//
// At an address that can be shared (SO_REUSEPORT) there is one for each worker, among which the kernel spreads the
// clients; elsewhere (unix, or a service manager's single socket) all accept from one. A worker that leaves, or dies,
// leaves its socket's queue to whoever takes its place: the sockets themselves never close while the master lives. So
// there are as many of them as there were workers at first: fewer workers accept from several, more workers share.
#pragma once

#include <string>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/engine/socket_file.h>
#include <peal/process/worker.h>

namespace peal::detail {

// A socket that another process opened.
struct InheritedListener {
  Fd socket;
  bool with_file = false;  // its socket file, if it has one, was that process's to remove, and is ours now
};

class SocketGroup {
 public:
  // Binds. A port that somebody else listens on is EADDRINUSE, though it be shared.
  static Result<SocketGroup> open(std::string name, const SocketAddress& address, const ListenOptions& options);
  // Of sockets that were inherited: one for each address among them, in their order. EINVAL: one does not listen.
  static Result<std::vector<SocketGroup>> inherit(const std::string& name, std::vector<InheritedListener> sockets);

  const std::string& name() const { return name_; }
  const SocketAddress& address() const { return address_; }
  const std::vector<Fd>& sockets() const { return sockets_; }
  bool inherited() const { return inherited_; }
  // A socket file that is ours to remove, and still there.
  bool owns_file() const { return file_.is_there(); }
  // Opens one for each worker, where the address can be shared. Before anybody accepts, and not beside inherited ones:
  // a socket that nobody accepts from would have to be closed again, and its clients with it.
  Result<void> open_for_workers(size_t workers);
  // In the worker at `place` of `workers`: the sockets that are its own to accept from. The others close.
  std::vector<ListeningSocket> take_share(size_t place, size_t workers) &&;
  // Stops listening; removes the socket file if it is ours: not a service manager's.
  void close();

 private:
  std::string name_;
  SocketAddress address_;
  ListenOptions options_;
  std::vector<Fd> sockets_;
  bool inherited_ = false;
  SocketFile file_;  // none: there is none, or it is a service manager's
};

}  // namespace peal::detail
