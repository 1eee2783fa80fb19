// SPDX-License-Identifier: BSD-3-Clause
// Acceptor: one listening socket on one loop, and who gets what it accepts. It lives until its last completion, whoever
// made it; stop() may be called at any time on its loop.
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

  // Takes over a listener that `loop`'s engine has bound. On the loop's thread, or before it runs; accepting begins
  // with the loop.
  static std::shared_ptr<Acceptor> start(Loop& loop, ListenerId listener, Take take);
  // Clients whose handshake the kernel had finished are still handed on. `held` is let go of when all have been. On the
  // loop's thread, or before it runs.
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
  std::shared_ptr<Acceptor> self_;  // set while the engine may call
  std::vector<std::shared_ptr<void>> held_;
};

}  // namespace peal::detail
