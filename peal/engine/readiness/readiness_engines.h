// SPDX-License-Identifier: BSD-3-Clause
// Makes the engines that wait for readiness over a Poller: they try a system call first, and wait only if it would
// block.
#pragma once

#include <memory>
#include <string_view>

#include <peal/engine/engine.h>
#include <peal/engine/readiness/poller.h>

namespace peal {

// Makes a readiness engine over the poller that `make_poller` makes. Engine::name() returns `name`, which must outlive
// the engine.
std::unique_ptr<Engine> make_readiness_engine(std::string_view name, detail::MakePoller make_poller);

std::unique_ptr<Engine> make_epoll_engine();
std::unique_ptr<Engine> make_poll_engine();
std::unique_ptr<Engine> make_select_engine();

}  // namespace peal
