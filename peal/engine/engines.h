// SPDX-License-Identifier: BSD-3-Clause
// The one list of the engines over a kernel, by name. The simulator's come from a SimWorld (peal/sim/sim_world.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal {

// The names make_engine() takes besides "auto"; the first is what that takes.
std::span<const std::string_view> engine_names();

// "auto" takes epoll, which runs everywhere. A name takes that engine or fails with Trouble::kUnsupportedEngine. Any
// thread; the engine's own thread is the one that calls open().
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);

// Why an engine cannot run on this machine, as one sentence; empty when it can.
std::string why_unsupported(std::string_view name);

}  // namespace peal
