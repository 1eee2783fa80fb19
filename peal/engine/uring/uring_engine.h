// SPDX-License-Identifier: BSD-3-Clause
// Makes the readiness engine over io_uring(7).
#pragma once

#include <memory>
#include <string>

#include <peal/engine/engine.h>

namespace peal {

std::unique_ptr<Engine> make_uring_engine();
// Returns a sentence that says why this machine cannot run the io_uring engine. The result is empty if it can. May be
// called on any thread.
std::string why_uring_unsupported();

}  // namespace peal
