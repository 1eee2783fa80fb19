// SPDX-License-Identifier: BSD-3-Clause
// The engines a behaviour is tested on: the kernel's, by their names, and "sim", an engine of a simulated world of its
// own in which nothing goes wrong; and each of them below a layer (sealed_port.h), as "sealed_epoll" and so on.
//
// poll and select are left out below a layer, and in a build with a sanitizer also without one: they share epoll's code
// but for the poller, which the engine suite tests. With PEAL_ALL_ENGINES in the environment (`make test-all`) nothing
// is left out.
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
// Not the simulator: its clock does not wait for what another thread, or a socket of the test's, is about to do.
std::vector<std::string_view> kernel_engines();

// The same names with "sealed_" before them.
std::vector<std::string_view> sealed(const std::vector<std::string_view>& engine_names);
bool is_sealed(std::string_view engine_name);
// With "tls_": over TLS (tls_layers.h).
std::vector<std::string_view> over_tls(const std::vector<std::string_view>& engine_names);
bool is_over_tls(std::string_view engine_name);
// Either.
bool is_layered(std::string_view engine_name);
// What stands below it: the name without that.
std::string_view below(std::string_view engine_name);

// As peal's functions of these names; "sim" and sealed ones too.
std::string why_unsupported(std::string_view engine_name);
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);
Result<std::unique_ptr<Loop>> make_loop(const LoopOptions& options);

}  // namespace peal::test
