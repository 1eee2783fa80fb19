// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tested_engines.h>

#include <peal/engine/engines.h>
#include <peal/sim/sim_world.h>

namespace peal::test {

std::vector<std::string_view> every_engine() {
  std::vector<std::string_view> names = kernel_engines();
  names.emplace_back("sim");
  return names;
}

std::vector<std::string_view> kernel_engines() { return {engine_names().begin(), engine_names().end()}; }

std::string why_unsupported(std::string_view engine_name) {
  return engine_name == "sim" ? std::string() : peal::why_unsupported(engine_name);
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  if (name == "sim") return SimWorld(1).make_engine();
  return peal::make_engine(name);
}

Result<std::unique_ptr<Loop>> make_loop(const LoopOptions& options) {
  if (options.engine != "sim") return Loop::make(options);
  return std::make_unique<Loop>(SimWorld(1).make_engine(), options);
}

}  // namespace peal::test
