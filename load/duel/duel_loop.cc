// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_loop.h>

#include <csignal>

namespace peal::load {

Result<std::unique_ptr<DuelLoop>> DuelLoop::make() {
  Result<std::unique_ptr<Loop>> loop = Loop::make({.engine = "epoll"});
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<DuelLoop> made(new DuelLoop(std::move(*loop)));
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto done = made->loop_->on_signal(signal, [duel = made.get()] { duel->interrupted_ = true; });
    if (!done) return std::unexpected(done.error());
  }
  if (const Result<void> begun = made->loop_->begin(); !begun) return std::unexpected(begun.error());
  return made;
}

DuelLoop::~DuelLoop() { loop_->end(); }

}  // namespace peal::load
