// SPDX-License-Identifier: BSD-3-Clause
// The engines that try a system call first and wait for readiness only when it would block, over a Poller.
#pragma once

#include <memory>
#include <string_view>

#include <peal/engine/engine.h>
#include <peal/engine/readiness/poller.h>

namespace peal {

// `name` is what Engine::name() answers; it outlives the engine.
std::unique_ptr<Engine> make_readiness_engine(std::string_view name, detail::MakePoller make_poller);

std::unique_ptr<Engine> make_epoll_engine();
std::unique_ptr<Engine> make_poll_engine();
std::unique_ptr<Engine> make_select_engine();

}  // namespace peal
