// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/stackless_echo.h>

namespace peal::models {
namespace {

// A try, repeated whenever the socket is ready, and the coroutine resumed when it is done. Trivially destructible: g++
// 12 destroys other temporaries of a co_await twice.
template <class Derived>
class Trying : public Waiter {
 public:
  Trying(CoSocket& socket, EchoBytes& buffer) : socket_(socket), buffer_(buffer) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    static_cast<Derived*>(this)->wait();
  }
  // False: there is no going on.
  bool await_resume() const { return *done_; }
  void resume() final {
    if (attempt()) {
      coroutine_.resume();
    } else {
      static_cast<Derived*>(this)->wait();
    }
  }

 protected:
  ~Trying() = default;

  CoSocket& socket_;
  EchoBytes& buffer_;

 private:
  bool attempt() {
    done_ = static_cast<Derived*>(this)->try_once();
    return done_.has_value();
  }

  std::coroutine_handle<> coroutine_;
  std::optional<bool> done_;
};

// Something.
class Read final : public Trying<Read> {
 public:
  using Trying::Trying;
  std::optional<bool> try_once() { return socket_.try_read(buffer_); }
  void wait() { socket_.wait_to_read(buffer_, *this); }
};

// The whole answer.
class Write final : public Trying<Write> {
 public:
  using Trying::Trying;
  std::optional<bool> try_once() {
    std::optional<bool> done = true;
    while (done == true && buffer_.has_answer()) done = socket_.try_write(buffer_);
    return done;
  }
  void wait() { socket_.wait_to_write(buffer_, *this); }
};

class Accept final : public Waiter {
 public:
  explicit Accept(CoSocket& listener) : listener_(listener) {}
  static bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    listener_.wait_to_accept(*this);
  }
  static void await_resume() {}
  void resume() override { coroutine_.resume(); }

 private:
  CoSocket& listener_;
  std::coroutine_handle<> coroutine_;
};

}  // namespace

CoTask<std::optional<Fd>> StacklessEcho::accept(CoSocket& listener) {
  for (;;) {
    Accepted next = try_accept(listener);
    if (next.did == CallOutcome::kDone) co_return std::move(next.socket);
    if (next.did == CallOutcome::kEnd) co_return std::nullopt;
    co_await Accept(listener);
  }
}

CoTask<void> StacklessEcho::serve(Fd connection) {
  CoSocket socket(loop(), std::move(connection));
  EchoBytes buffer(options().max_body_bytes);
  FrameState last = FrameState::kMore;
  while (last != FrameState::kTooLong) {
    // Statements of their own: in a loop's condition g++ 12 awaits what stands right of && whatever stands left.
    const bool got = co_await Read(socket, buffer);
    if (!got) break;
    last = take_frames(buffer);
    const bool answered = co_await Write(socket, buffer);
    if (!answered) break;
  }
  count_end(socket, last);
}

}  // namespace peal::models
