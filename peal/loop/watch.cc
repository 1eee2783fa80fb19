// SPDX-License-Identifier: BSD-3-Clause
// The shared State may outlive its Watch: the engine, a posted task and a running callback each hold a reference to it.
#include <peal/loop/watch.h>

#include <cstddef>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal {

class Watch::State final : public WatchEvents, public std::enable_shared_from_this<Watch::State> {
 public:
  State(Loop& loop, int number, Readiness wanted, Callback callback, OnError on_error)
      : interest(wanted),
        fd(number),
        loop_(loop),
        mailbox_(loop.mailbox()),
        callback_(std::move(callback)),
        on_error_(std::move(on_error)) {
    PEAL_ASSERT(callback_, "a watch of fd {} has no callback", number);
  }

  void start() {
    loop_.assert_here();
    if (loop_.in_loop()) {
      register_with_engine();
      return;
    }
    mailbox_->insist([self = shared_from_this()] { self->register_with_engine(); });
  }

  void change(Readiness wanted) {
    assert_here();
    if (stopped_ || wanted == std::exchange(interest, wanted) || !engine_opened_ || !mailbox_->open()) return;
    unregister();
    register_with_engine();
  }

  void stop(peal::Callback<void()> on_done) {
    assert_here();
    PEAL_ASSERT(!stopped_ || !on_done, "the watch of fd {} is stopped twice; only the first stop() may have an on_done",
                fd);
    if (std::exchange(stopped_, true)) return;
    on_done_ = std::move(on_done);
    unregister();
    if (engine_watches_ == 0) finish();
  }

  void on_ready(bool readable, bool writable) override {
    const auto self = shared_from_this();
    const Readiness ready{readable && interest.readable, writable && interest.writable};
    loop_.guard("a watch", [&] { callback_(ready); });
  }

  void on_unwatched() override {
    const auto self = shared_from_this();
    PEAL_ASSERT(engine_watches_ > 0, "the engine ended a watch of fd {} twice", fd);
    if (--engine_watches_ > 0) return;
    watch_ = {};
    const auto last = std::move(self_);
    if (stopped_ || error) finish();
  }

  Readiness interest;
  const int fd;
  Fd owned;               // the same fd if the Watch owns it, otherwise empty
  std::error_code error;  // set if the engine has refused to watch the fd

 private:
  // Makes the engine watch the fd. Must be called between the engine's open() and shut(), which the engine asserts. If
  // the loop has begun to end, the engine ends this watch when it shuts.
  void register_with_engine() {
    engine_opened_ = true;
    if (stopped_ || error || watch_ || interest == Readiness{}) return;
    const Result<WatchId> watch = loop_.engine().watch(fd, interest.readable, interest.writable, *this);
    if (!watch) {
      fail_later(watch.error());
      return;
    }
    watch_ = *watch;
    ++engine_watches_;
    self_ = shared_from_this();
  }

  // Stores the error and posts the call of on_error, because a direct call could come before the Watch's constructor
  // returns. If an earlier watch of the engine has not ended yet, on_unwatched() makes the call instead.
  void fail_later(std::error_code why) {
    error = why;
    if (engine_watches_ == 0) mailbox_->insist([self = shared_from_this()] { self->finish(); });
  }

  void unregister() {
    if (watch_) loop_.engine().unwatch(std::exchange(watch_, {}));
  }

  void finish() {
    owned.reset();
    if (!stopped_) {
      call_on_error();
      return;
    }
    if (!on_done_) return;
    auto on_done = std::exchange(on_done_, {});
    if (mailbox_->here() != nullptr) {
      loop_.guard("a watch", on_done);
    } else {
      on_done();
    }
  }

  void call_on_error() {
    if (!on_error_) {
      PEAL_LOG_ERROR("fd {} cannot be watched: {}", fd, error.message());
      return;
    }
    loop_.guard("a watch", [this] { on_error_(error); });
  }

  void assert_here() const {
    if (mailbox_->open()) loop_.assert_here();
  }

  Loop& loop_;  // may be destroyed once the mailbox is closed and the engine has released the fd
  const std::shared_ptr<Mailbox> mailbox_;
  Callback callback_;
  OnError on_error_;
  peal::Callback<void()> on_done_;
  WatchId watch_;
  size_t engine_watches_ = 0;   // watches of the engine that have not ended with on_unwatched() yet
  bool engine_opened_ = false;  // true after the engine was opened
  bool stopped_ = false;
  std::shared_ptr<State> self_;  // set while engine_watches_ > 0, so that the engine's reference stays valid
};

Watch::Watch(Loop& loop, int fd, Readiness interest, Callback callback, OnError on_error)
    : state_(std::make_shared<State>(loop, fd, interest, std::move(callback), std::move(on_error))) {
  state_->start();
}

Watch::Watch(Loop& loop, Fd fd, Readiness interest, Callback callback, OnError on_error)
    : Watch(loop, fd.get(), interest, std::move(callback), std::move(on_error)) {
  state_->owned = std::move(fd);
}

Watch::~Watch() { state_->stop({}); }

void Watch::set_interest(Readiness interest) { state_->change(interest); }
Readiness Watch::interest() const { return state_->interest; }
int Watch::fd() const { return state_->fd; }
std::error_code Watch::error() const { return state_->error; }
void Watch::stop(peal::Callback<void()> on_done) { state_->stop(std::move(on_done)); }

}  // namespace peal
