// SPDX-License-Identifier: BSD-3-Clause
// An echo server on ACE: an ACE_Event_Handler over an ACE_SOCK_Stream. Each thread has one listener and one ACE_Reactor
// with the epoll implementation (ACE_Dev_Poll_Reactor). The alternative, an ACE_TP_Reactor that the threads share, uses
// select() and stops at 1024 sockets.
//
// Tuned in these ways:
// - It writes first. It queues output and waits for writability only while a write is incomplete. Meanwhile it does not
//   read.
// - Each thread has one warm read buffer.
//
// Two costs cannot be avoided: this reactor dispatches one event at a time, and registers the socket again after each.
#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include <ace/Dev_Poll_Reactor.h>
#include <ace/Event_Handler.h>
#include <ace/Init_ACE.h>
#include <ace/Reactor.h>
#include <ace/SOCK_Acceptor.h>
#include <ace/SOCK_Stream.h>

#include "contender.h"

namespace {

constexpr size_t kReadBytes = size_t{64} * 1024;

// The connection of one client. The object deletes itself when the connection is closed, as is usual for ACE handlers.
class AceEcho final : public ACE_Event_Handler {
 public:
  AceEcho(ACE_Reactor* owner, std::span<char> buffer) : ACE_Event_Handler(owner), buffer_(buffer) {}

  ACE_SOCK_Stream& peer() { return peer_; }
  ACE_HANDLE get_handle() const override { return peer_.get_handle(); }

  int handle_input(ACE_HANDLE) override {
    const ssize_t got = peer_.recv(buffer_.data(), buffer_.size());
    if (got < 0 && would_block()) return 0;
    if (got <= 0) return -1;
    const ssize_t written = peer_.send(buffer_.data(), static_cast<size_t>(got));
    if (written == got) return 0;
    if (written < 0 && !would_block()) return -1;
    const size_t done = written < 0 ? 0 : static_cast<size_t>(written);
    unsent_.assign(buffer_.data() + done, static_cast<size_t>(got) - done);
    sent_ = 0;
    reactor()->cancel_wakeup(this, READ_MASK);
    reactor()->schedule_wakeup(this, WRITE_MASK);
    return 0;
  }

  int handle_output(ACE_HANDLE) override {
    const ssize_t written = peer_.send(unsent_.data() + sent_, unsent_.size() - sent_);
    if (written < 0) return would_block() ? 0 : -1;
    sent_ += static_cast<size_t>(written);
    if (sent_ < unsent_.size()) return 0;
    std::string().swap(unsent_);
    reactor()->cancel_wakeup(this, WRITE_MASK);
    reactor()->schedule_wakeup(this, READ_MASK);
    return 0;
  }

  int handle_close(ACE_HANDLE, ACE_Reactor_Mask) override {
    reactor()->remove_handler(this, ALL_EVENTS_MASK | DONT_CALL);
    peer_.close();
    delete this;
    return 0;
  }

 private:
  static bool would_block() { return errno == EWOULDBLOCK || errno == EINTR; }

  ACE_SOCK_Stream peer_;
  std::span<char> buffer_;
  std::string unsent_;
  size_t sent_ = 0;
};

class AceAcceptor final : public ACE_Event_Handler {
 public:
  AceAcceptor(ACE_Reactor* owner, int listener) : ACE_Event_Handler(owner), buffer_(kReadBytes) {
    acceptor_.set_handle(listener);
  }

  ACE_HANDLE get_handle() const override { return acceptor_.get_handle(); }

  int handle_input(ACE_HANDLE) override {
    for (;;) {
      auto* echo = new AceEcho(reactor(), buffer_);
      if (acceptor_.accept(echo->peer()) != 0) {
        delete echo;
        return on_accept_error();
      }
      echo->peer().enable(ACE_NONBLOCK);
      if (reactor()->register_handler(echo, READ_MASK) != 0) echo->handle_close(ACE_INVALID_HANDLE, 0);
    }
  }

  int handle_timeout(const ACE_Time_Value&, const void*) override {
    reactor()->schedule_wakeup(this, ACCEPT_MASK);
    return 0;
  }

 private:
  int on_accept_error() {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // No fd is free. Without a pause, the loop would only repeat the failing accept().
      reactor()->cancel_wakeup(this, ACCEPT_MASK);
      reactor()->schedule_timer(this, nullptr, ACE_Time_Value(0, kContenderRetryMs * 1000));
    }
    return 0;
  }

  ACE_SOCK_Acceptor acceptor_;
  std::vector<char> buffer_;
};

void serve_thread(int listener) {
  // The argument `true` (restart) makes the reactor continue a wait that a signal has interrupted. The argument `1`
  // (disable_notify_pipe) switches off the pipe by which other threads wake a reactor. No other thread uses this
  // reactor, so the pipe is not needed.
  ACE_Dev_Poll_Reactor implementation(raise_fd_limit(), true, nullptr, nullptr, 1, nullptr, 0);
  ACE_Reactor reactor(&implementation);
  AceAcceptor acceptor(&reactor, listener);
  if (reactor.register_handler(&acceptor, ACE_Event_Handler::ACCEPT_MASK) != 0) fail("register_handler");
  reactor.run_reactor_event_loop();
  fail("run_reactor_event_loop");
}

}  // namespace

int serve(const contender_options* options) {
  ACE::init();
  return serve_on_each_thread(options, serve_thread);
}
