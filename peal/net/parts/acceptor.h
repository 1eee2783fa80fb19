// SPDX-License-Identifier: BSD-3-Clause
// Acceptor: accepts on one listening socket of one loop and passes each stream to a function. It keeps itself alive
// until the engine's last completion. stop() may be called at any time on its loop.
#pragma once

#include <memory>
#include <vector>

#include <peal/base/callback.h>
#include <peal/engine/engine.h>
#include <peal/loop/loop.h>

namespace peal::detail {

class Acceptor final : private AcceptEvents, public std::enable_shared_from_this<Acceptor> {
 public:
  using Take = Callback<void(LooseStream)>;

  // Takes over a listener that the engine of `loop` has bound. Must be called on the loop's thread or before the loop
  // runs. Accepting begins when the loop runs.
  static std::shared_ptr<Acceptor> start(Loop& loop, ListenerId listener, Take take);
  // Stops accepting. Clients whose TCP handshake the kernel has finished are still passed to the `take` of start().
  // `held` is released after the last of these clients was passed on. Must be called on the loop's thread or before the
  // loop runs.
  void stop(std::shared_ptr<void> held = {});

 private:
  Acceptor(Loop& loop, ListenerId listener, Take take) : loop_(loop), listener_(listener), take_(std::move(take)) {}
  void begin();
  void on_accepted(LooseStream stream) override;
  void on_accept_stopped() override;

  Loop& loop_;
  const ListenerId listener_;
  Take take_;
  bool stopped_ = false;
  std::shared_ptr<Acceptor> self_;  // set while the engine may call this object
  std::vector<std::shared_ptr<void>> held_;
};

}  // namespace peal::detail
