// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tested_engines.h>

#include <cstdlib>
#include <set>

#include <peal/engine/engines.h>
#include <peal/sim/sim_world.h>
#include <tests/support/sanitized.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/tls/layered_engine.h>
#include <tests/support/tls/tls_layers.h>

namespace peal::test {
namespace {

constexpr std::string_view kSealed = "sealed_";
constexpr std::string_view kTls = "tls_";

// Returns `engine_names` without poll and select, or all of `engine_names` if PEAL_ALL_ENGINES is set in the
// environment. The engines poll and select differ from epoll only in the poller. Each poller is tested in every build
// nevertheless, because the engine suites run on the engines that engine_rig.h lists.
std::vector<std::string_view> without_kin_of_epoll(std::vector<std::string_view> engine_names) {
  if (std::getenv("PEAL_ALL_ENGINES") != nullptr) return engine_names;
  std::erase_if(engine_names, [](std::string_view name) { return name == "poll" || name == "select"; });
  return engine_names;
}

std::vector<std::string_view> with_prefix(std::string_view prefix, const std::vector<std::string_view>& engine_names) {
  static std::set<std::string, std::less<>> kept;
  std::vector<std::string_view> names;
  for (const std::string_view name : without_kin_of_epoll(engine_names)) {
    names.push_back(*kept.insert(std::string(prefix) + std::string(name)).first);
  }
  return names;
}

}  // namespace

std::vector<std::string_view> every_engine() {
  std::vector<std::string_view> names = kernel_engines();
  names.emplace_back("sim");
  return names;
}

std::vector<std::string_view> kernel_engines() {
  const std::vector<std::string_view> names(engine_names().begin(), engine_names().end());
  return kSanitized ? without_kin_of_epoll(names) : names;
}

std::vector<std::string_view> sealed(const std::vector<std::string_view>& engine_names) {
  return with_prefix(kSealed, engine_names);
}

std::vector<std::string_view> over_tls(const std::vector<std::string_view>& engine_names) {
  return with_prefix(kTls, engine_names);
}

bool is_sealed(std::string_view engine_name) { return engine_name.starts_with(kSealed); }
bool is_over_tls(std::string_view engine_name) { return engine_name.starts_with(kTls); }
bool is_layered(std::string_view engine_name) { return is_sealed(engine_name) || is_over_tls(engine_name); }

std::string_view below(std::string_view engine_name) {
  return is_layered(engine_name) ? engine_name.substr(engine_name.find('_') + 1) : engine_name;
}

std::string why_unsupported(std::string_view engine_name) {
  const std::string_view name = below(engine_name);
  return name == "sim" ? std::string() : peal::why_unsupported(name);
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  if (is_layered(name)) {
    Result<std::unique_ptr<Engine>> engine = make_engine(below(name));
    if (!engine) return engine;
    if (is_over_tls(name)) return std::make_unique<LayeredEngine>(std::move(*engine), tls_client(), tls_server());
    return std::make_unique<LayeredEngine>(std::move(*engine), SealedLayer());
  }
  if (name == "sim") return SimWorld(1).make_engine();
  return peal::make_engine(name);
}

Result<std::unique_ptr<Loop>> make_loop(const LoopOptions& options) {
  if (options.engine != "sim" && !is_layered(options.engine)) return Loop::make(options);
  Result<std::unique_ptr<Engine>> engine = make_engine(options.engine);
  if (!engine) return std::unexpected(engine.error());
  return std::make_unique<Loop>(std::move(*engine), options);
}

}  // namespace peal::test
