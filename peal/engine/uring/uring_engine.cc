// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/uring/uring_engine.h>

#include <peal/engine/readiness/readiness_engines.h>
#include <peal/engine/uring/parts/uring_poller.h>

namespace peal {

std::unique_ptr<Engine> make_uring_engine() { return make_readiness_engine("io_uring", detail::UringPoller::make); }
std::string why_uring_unsupported() { return detail::UringPoller::why_unsupported(); }

}  // namespace peal
