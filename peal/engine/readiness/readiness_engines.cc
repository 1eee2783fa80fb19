// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/readiness_engines.h>

#include <peal/engine/readiness/parts/epoll_poller.h>
#include <peal/engine/readiness/parts/poll_poller.h>
#include <peal/engine/readiness/parts/readiness_engine.h>
#include <peal/engine/readiness/parts/select_poller.h>

namespace peal {

std::unique_ptr<Engine> make_readiness_engine(std::string_view name, detail::MakePoller make_poller) {
  return std::make_unique<detail::ReadinessEngine>(name, make_poller);
}

std::unique_ptr<Engine> make_epoll_engine() { return make_readiness_engine("epoll", detail::EpollPoller::make); }
std::unique_ptr<Engine> make_poll_engine() { return make_readiness_engine("poll", detail::PollPoller::make); }
std::unique_ptr<Engine> make_select_engine() { return make_readiness_engine("select", detail::SelectPoller::make); }

}  // namespace peal
