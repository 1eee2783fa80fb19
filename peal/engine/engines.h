// SPDX-License-Identifier: BSD-3-Clause
// The only list of the engines over a kernel, by name. Engines of the simulator come from a SimWorld, which is in
// peal/sim/sim_world.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal {

// Returns the names that make_engine() takes. The name "auto" is not among them; it stands for the first of them.
std::span<const std::string_view> engine_names();

// Makes the engine called `name`. "auto" makes epoll, which runs on every machine. If the name is unknown or the engine
// cannot run here, fails with Trouble::kUnsupportedEngine. May be called on any thread; the engine's own thread is the
// one that calls open().
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);

// Returns a sentence that says why the engine cannot run on this machine. The result is empty if it can.
std::string why_unsupported(std::string_view name);

}  // namespace peal
