// SPDX-License-Identifier: BSD-3-Clause
// The drum on muduo's Channel and EventLoop, a Channel per fd, as muduo's own examples/pingpong/bench.cc has it.
// Registering anew takes the channel out of the loop and puts it back, an EPOLL_CTL_DEL and an ADD as everybody's;
// muduo's bench only asks for reading again, an EPOLL_CTL_MOD. A muduo timer cannot be moved: at each byte the idle
// timer is cancelled and a new one armed.
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
