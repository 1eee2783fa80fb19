// SPDX-License-Identifier: BSD-3-Clause
// Base class of the scripted servers for tests. It has a loop on a thread of its own, which accepts connections on a
// free port. Create and destroy the server on the test's thread. A derived class must call begin_accepting() at the end
// of its constructor and end() at the beginning of its destructor.
#pragma once

#include <future>
#include <memory>

#include <peal/loop/loop_group.h>

namespace peal::load {

class ScriptedListener : private AcceptEvents {
 public:
  ScriptedListener(const ScriptedListener&) = delete;
  ScriptedListener& operator=(const ScriptedListener&) = delete;

  const SocketAddress& address() const { return address_; }

 protected:
  ScriptedListener() : group_(LoopGroup::start(1, {.engine = "epoll"}).value()) {}
  ~ScriptedListener() = default;

  void begin_accepting() {
    std::promise<SocketAddress> bound;
    loop().post([this, &bound] {
      const ListenerId listener = engine().bind(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
      engine().accept(listener, *this);
      bound.set_value(engine().local_address(listener).value());
    });
    address_ = bound.get_future().get();
  }
  void end() {
    group_->stop();
    group_->join();
    group_.reset();  // the loop calls functions of the derived class, so the loop is destroyed first
  }
  Loop& loop() { return (*group_)[0]; }
  Engine& engine() { return loop().engine(); }

 private:
  void on_accept_stopped() override {}

  SocketAddress address_;
  std::unique_ptr<LoopGroup> group_;
};

// A connection of a test server. A derived class must handle received bytes and the end of the input. This class
// ignores all other events.
class ScriptedPeer : public StreamEvents {
 protected:
  ~ScriptedPeer() = default;

 private:
  void on_connected(std::error_code) override {}
  void on_send_failed(std::error_code) override {}
  void on_sent(size_t) override {}
  void on_closed() override {}
  void on_detached(LooseStream) override {}
};

}  // namespace peal::load
