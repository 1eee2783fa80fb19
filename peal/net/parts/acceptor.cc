// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/acceptor.h>

#include <exception>

#include <peal/base/log.h>

namespace peal::detail {

std::shared_ptr<Acceptor> Acceptor::start(Loop& loop, ListenerId listener, Take take) {
  std::shared_ptr<Acceptor> acceptor(new Acceptor(loop, listener, std::move(take)));
  if (loop.in_loop()) {
    acceptor->begin();
  } else {
    // The loop opens its engine when it begins to run, so accepting must wait for the loop's first task.
    loop.mailbox()->insist([acceptor] { acceptor->begin(); });
  }
  return acceptor;
}

void Acceptor::begin() {
  if (stopped_) return;
  self_ = shared_from_this();
  loop_.engine().accept(listener_, *this);
}

void Acceptor::stop(std::shared_ptr<void> held) {
  if (self_ != nullptr) held_.push_back(std::move(held));
  if (stopped_) return;
  stopped_ = true;
  loop_.engine().stop(listener_);
}

void Acceptor::on_accepted(LooseStream stream) {
  try {
    take_(std::move(stream));
  } catch (const std::exception& error) {
    PEAL_LOG_ERROR("an accepted connection is closed, because opening it threw: {}", error.what());
  }
}

void Acceptor::on_accept_stopped() {
  stopped_ = true;
  std::shared_ptr<Acceptor> last = std::move(self_);
  held_.clear();
}

}  // namespace peal::detail
