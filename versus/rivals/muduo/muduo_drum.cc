// SPDX-License-Identifier: BSD-3-Clause
// The drum on muduo's EventLoop, with one Channel per fd, as in muduo/examples/pingpong/bench.cc. Registering a
// channel again removes it from the loop and adds it, so it costs EPOLL_CTL_DEL and EPOLL_CTL_ADD as in the other
// drums. (muduo's bench only enables reading again, an EPOLL_CTL_MOD.) A muduo timer cannot be moved: each byte cancels
// the idle timer and starts a new one.
#include <memory>
#include <vector>

#include <muduo/net/Channel.h>
#include <muduo/net/EventLoop.h>

#include "drum_main.h"

namespace {

struct Drummer {
  std::unique_ptr<muduo::net::Channel> channel;
  muduo::net::TimerId idle;
};

std::unique_ptr<muduo::net::EventLoop> loop;
std::vector<Drummer> drummers;

void arm_idle(int i) {
  drummers[static_cast<size_t>(i)].idle = loop->runAfter(drum_idle_ms(i) / 1000., [i] {
    drum_idle(i);
    arm_idle(i);
  });
}

void on_byte(int i) {
  if (drum.timeouts) {
    loop->cancel(drummers[static_cast<size_t>(i)].idle);
    arm_idle(i);
  }
  if (drum_byte(i)) loop->quit();
}

}  // namespace

const char* library_name(void) { return "muduo"; }
const char* idle_manner(void) { return "rearm"; }

void register_all(int again) {
  if (loop == nullptr) {
    loop = std::make_unique<muduo::net::EventLoop>();
    drummers.resize(static_cast<size_t>(drum.pairs));
  }
  for (int i = 0; i < drum.pairs; ++i) {
    Drummer& drummer = drummers[static_cast<size_t>(i)];
    if (again) {
      drummer.channel->disableAll();
      drummer.channel->remove();
      if (drum.timeouts) loop->cancel(drummer.idle);
    } else {
      drummer.channel = std::make_unique<muduo::net::Channel>(loop.get(), drum.receiving[i]);
    }
    drummer.channel->setReadCallback([i](muduo::Timestamp) { on_byte(i); });
    drummer.channel->enableReading();
    if (drum.timeouts) arm_idle(i);
  }
}

void pass_around(void) { loop->loop(); }
