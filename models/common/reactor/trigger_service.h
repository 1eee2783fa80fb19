// SPDX-License-Identifier: BSD-3-Clause
// What the trigger models share: one thread that waits for many sockets, and serves in blocking calls whoever is
// readable. How it waits is theirs.
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
  // EAGAIN: there is no thread for the BlockedThreads. `run` outlives it; its listener does not block.
  static Result<std::unique_ptr<TriggerService>> make(ModelRun& run);

  int listener() const { return run_.listener.get(); }
  // Readable when all shall end.
  int stop() const { return run_.stop.fd(); }
  bool stopping() const { return sleepers_->stopping(); }

  // Accepts who waits, until nobody does, or there is no room.
  void accept(const std::function<void(Fd)>& on_accepted);
  // Serves the client to its end and closes it.
  void serve(Fd client);
  // Counts a client that is not served, and closes it.
  void refuse(Fd client);

  // What accept() found: without room the next wait leaves out the listener and takes kRoomPause at most. Asked once
  // for each wait: the one after it tries again.
  bool take_has_room() { return std::exchange(has_room_, true); }

 private:
  TriggerService(ModelRun& run, std::unique_ptr<BlockedThreads> sleepers) : run_(run), sleepers_(std::move(sleepers)) {}

  ModelRun& run_;
  const std::unique_ptr<BlockedThreads> sleepers_;
  bool has_room_ = true;
};

}  // namespace peal::models
