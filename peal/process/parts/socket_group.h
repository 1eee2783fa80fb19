// SPDX-License-Identifier: BSD-3-Clause
// SocketGroup: the listening sockets of one address, which the master holds open for all its workers.
//
//   - An IP address has one socket for each worker (SO_REUSEPORT), and the kernel spreads the clients among them.
//   - A unix address, or a service manager's single socket, has one socket, from which all workers accept.
//
// The sockets stay open while the master lives. When a worker leaves or dies, the worker that takes its place accepts
// the clients that wait in the socket's queue. So the number of sockets stays what it was at the start. After a reload
// with fewer workers, each worker accepts from several sockets. With more workers, several share a socket.
#pragma once

#include <string>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/engine/socket_file.h>
#include <peal/process/worker.h>

namespace peal::detail {

// A listening socket that another process opened and passed to this one.
struct InheritedListener {
  Fd socket;
  bool with_file = false;  // true if this process has to remove the socket file, because a master opened the socket
};

class SocketGroup {
 public:
  // Opens the first socket of `address`. Fails as open_listening_socket() does. The error is EADDRINUSE if another
  // process listens on the port, even if that process would share the port.
  static Result<SocketGroup> open(std::string name, const SocketAddress& address, const ListenOptions& options);
  // Makes groups of inherited sockets: one group for each address, in the order of the sockets. Fails as
  // listening_address() does: EINVAL or ENOTSOCK if a socket cannot accept streams.
  static Result<std::vector<SocketGroup>> inherit(const std::string& name, std::vector<InheritedListener> sockets);

  const std::string& name() const { return name_; }
  const SocketAddress& address() const { return address_; }
  const std::vector<Fd>& sockets() const { return sockets_; }
  bool inherited() const { return inherited_; }
  // Returns whether close() has to remove a socket file: the file exists and belongs to this master.
  bool owns_file() const { return file_.is_there(); }
  // Opens further sockets of an IP address until there is one for each worker. Must be called before any worker
  // accepts. Does nothing for a unix address. Does nothing for inherited sockets either: a reload with fewer workers
  // would then have to close sockets, and the clients that wait in their queues would be lost.
  Result<void> open_for_workers(size_t workers);
  // Returns the sockets that the worker at `place` of `workers` accepts from, and closes the others. To be called in
  // the worker's process.
  std::vector<ListeningSocket> take_share(size_t place, size_t workers) &&;
  // Closes the sockets. Removes the socket file if this master owns it; a service manager's file stays.
  void close();

 private:
  std::string name_;
  SocketAddress address_;
  ListenOptions options_;
  std::vector<Fd> sockets_;
  bool inherited_ = false;
  SocketFile file_;  // stands for no file if there is none, or if it belongs to a service manager
};

}  // namespace peal::detail
