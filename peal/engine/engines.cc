// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/engines.h>

#include <array>
#include <random>

#include <fmt/core.h>

#include <peal/engine/readiness/readiness_engines.h>
#include <peal/engine/uring/uring_engine.h>

namespace peal {
namespace {

struct Maker {
  std::string_view name;
  std::string (*why_unsupported)();
  std::unique_ptr<Engine> (*make)();
};

std::string always_supported() { return {}; }

// All engines. "auto" stands for the first of them, which runs on every machine and is never far slower than another
// engine (docs/engines.md).
constexpr std::array kMakers{
    Maker{"epoll", always_supported, make_epoll_engine},
    Maker{"io_uring", why_uring_unsupported, make_uring_engine},
    Maker{"poll", always_supported, make_poll_engine},
    Maker{"select", always_supported, make_select_engine},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kMakers.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kMakers[i].name;
  return names;
}();

const Maker* find(std::string_view name) {
  for (const Maker& maker : kMakers) {
    if (maker.name == name) return &maker;
  }
  return nullptr;
}

}  // namespace

uint64_t Engine::random_seed() { return std::random_device{}(); }

std::span<const std::string_view> engine_names() { return kNames; }

std::string why_unsupported(std::string_view name) {
  if (name == "auto") return {};
  const Maker* maker = find(name);
  return maker != nullptr ? maker->why_unsupported() : fmt::format("there is no engine called '{}'", name);
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  if (name == "auto") return kMakers.front().make();
  const Maker* maker = find(name);
  if (maker == nullptr || !maker->why_unsupported().empty()) return fail(Trouble::kUnsupportedEngine);
  return maker->make();
}

}  // namespace peal
