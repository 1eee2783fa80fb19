// SPDX-License-Identifier: BSD-3-Clause
// The readiness engine over an io_uring(7).
#pragma once

#include <memory>
#include <string>

#include <peal/engine/engine.h>

namespace peal {

std::unique_ptr<Engine> make_uring_engine();
// Why this machine cannot run it, as one sentence; empty when it can. Any thread.
std::string why_uring_unsupported();

}  // namespace peal
