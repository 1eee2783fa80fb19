// SPDX-License-Identifier: BSD-3-Clause
// The trigger models share this code. One thread waits for many sockets. When the socket of a client is readable, the
// thread serves this client with blocking calls until the connection ends. Each model waits with another system call:
// select(2), poll(2) or epoll_wait(2).
//
//   wait ──> listener readable: accept() ─> wait for the client's first bytes, too
//     ^  └─> client readable:   serve() to its end, close; all the others wait meanwhile
//     └──────────────┘
#pragma once

#include <functional>
#include <memory>

#include <models/common/plain_sockets.h>
#include <models/model_table.h>

namespace peal::models {

class TriggerService {
 public:
  // Creates the service. Also starts a thread that shuts down the socket of the served client when SIGTERM or SIGINT
  // arrives (BlockedThreads). The shutdown ends the blocking calls of serve(), so that serve() returns. `run` must
  // outlive the service. The listener in `run` must be non-blocking. Errors:
  // - EAGAIN: the thread cannot be started.
  // - EMFILE: no fd is free.
  static Result<std::unique_ptr<TriggerService>> make(ModelRun& run);

  int listener() const { return run_.listener.get(); }
  // Returns an fd that becomes readable when SIGTERM or SIGINT arrives.
  int stop() const { return run_.stop.fd(); }
  bool stopping() const { return sleepers_->stopping(); }

  // Accepts all waiting connections, and passes each socket to on_accepted(). Stops earlier if no fd or memory is free
  // for another connection.
  void accept(const std::function<void(Fd)>& on_accepted);
  // Serves the client with the socket `client` until the connection ends, then closes the socket.
  void serve(Fd client);
  // Closes the socket `client` without serving it, and counts the connection as refused.
  void refuse(Fd client);

  // Returns false if the last accept() found no free fd or memory for another connection. In this case, the next wait
  // must not include the listener, and must end after kRoomPause at the latest. Reason: the listener stays readable, so
  // a wait with the listener would return immediately, again and again. Each call resets the result to true, so that
  // the wait after the next one includes the listener again. Therefore call take_has_room() exactly once before each
  // wait.
  bool take_has_room() { return std::exchange(has_room_, true); }

 private:
  TriggerService(ModelRun& run, std::unique_ptr<BlockedThreads> sleepers) : run_(run), sleepers_(std::move(sleepers)) {}

  ModelRun& run_;
  const std::unique_ptr<BlockedThreads> sleepers_;
  bool has_room_ = true;
};

}  // namespace peal::models
