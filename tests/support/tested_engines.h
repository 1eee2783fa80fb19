// SPDX-License-Identifier: BSD-3-Clause
// The names of the engines on which a suite runs. They are the engines of the kernel, and "sim", an engine in a
// simulated network without faults. Each engine also exists with a layer above it: "sealed_epoll" (sealed_port.h),
// "tls_epoll" (tls_layers.h) and so on.
//
// The engines poll and select differ from epoll only in the poller, and the engine suite always tests the pollers. To
// save time, other suites do not run on poll and select if a layer is tested, or in builds with a sanitizer. If
// PEAL_ALL_ENGINES is set in the environment (`make test-all`), all suites run on all engines.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/loop/loop.h>

namespace peal::test {

std::vector<std::string_view> every_engine();
// Returns the names of all engines except "sim". In a build with a sanitizer, poll and select are also left out, as
// described above. A test with threads or raw sockets cannot use "sim". The simulator's clock jumps to the next timer
// and does not wait until a thread or a raw socket has done its work.
std::vector<std::string_view> kernel_engines();

// Returns `engine_names` with "sealed_" in front of each name, without poll and select (as described above). For
// example, "sealed_epoll" is epoll with the sealing layer above it. The sealing layer is a simple layer that takes the
// place of TLS in tests (sealed_port.h).
std::vector<std::string_view> sealed(const std::vector<std::string_view>& engine_names);
bool is_sealed(std::string_view engine_name);
// Returns `engine_names` with "tls_" in front of each name, without poll and select (as described above). For example,
// "tls_epoll" is epoll with a TLS layer above it (tls_layers.h).
std::vector<std::string_view> over_tls(const std::vector<std::string_view>& engine_names);
bool is_over_tls(std::string_view engine_name);
// True if the name begins with "sealed_" or "tls_".
bool is_layered(std::string_view engine_name);
// Returns the name without the prefix "sealed_" or "tls_".
std::string_view below(std::string_view engine_name);

// These functions do the same as why_unsupported(), make_engine() and Loop::make() of peal. In addition, they accept
// "sim" and names that begin with "sealed_" or "tls_".
std::string why_unsupported(std::string_view engine_name);
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);
Result<std::unique_ptr<Loop>> make_loop(const LoopOptions& options);

}  // namespace peal::test
