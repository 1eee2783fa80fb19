// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/stackless_echo.h>

namespace peal::models {
namespace {

// An awaitable for one operation on a socket. Tries the operation when a coroutine awaits it, and again each time the
// socket is ready. When the operation is done, the coroutine continues. The destructor is trivial, because g++ 12
// destroys a temporary object in a co_await expression twice.
template <class Derived>
class Trying : public Waiter {
 public:
  Trying(CoSocket& socket, EchoBytes& buffer) : socket_(socket), buffer_(buffer) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    static_cast<Derived*>(this)->wait();
  }
  // Returns the value of the co_await expression: true if the operation has succeeded, false if the connection is over.
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

// An awaitable that reads at least one byte. The coroutine continues when bytes were read or the connection is over
// (CoSocket::try_read()).
class Read final : public Trying<Read> {
 public:
  using Trying::Trying;
  std::optional<bool> try_once() { return socket_.try_read(buffer_); }
  void wait() { socket_.wait_to_read(buffer_, *this); }
};

// An awaitable that sends the whole answer. The coroutine continues when the whole answer was sent or the connection is
// over (CoSocket::try_write()).
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
    // Each co_await is a statement of its own, because g++ 12 has a bug. In the loop condition `a && co_await b`, g++
    // 12 awaits b even if a is false.
    const bool got = co_await Read(socket, buffer);
    if (!got) break;
    last = take_frames(buffer);
    const bool answered = co_await Write(socket, buffer);
    if (!answered) break;
  }
  count_end(socket, last);
}

}  // namespace peal::models
