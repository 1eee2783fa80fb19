// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/engines.h>

#include <array>

#include <fmt/core.h>

#include <peal/base/log.h>
#include <peal/engine/parts/epoll_poller.h>
#include <peal/engine/parts/readiness_engine.h>
#include <peal/engine/parts/uring_engine.h>
#include <peal/engine/parts/uring_ring.h>

namespace peal {
namespace {

struct Maker {
  std::string_view name;
  std::string (*why_unsupported)();
  std::unique_ptr<Engine> (*make)();
};

std::string always_supported() { return {}; }

std::unique_ptr<Engine> make_io_uring() { return std::make_unique<detail::UringEngine>(); }
std::unique_ptr<Engine> make_epoll() {
  return std::make_unique<detail::ReadinessEngine>("epoll", detail::EpollPoller::make);
}

// Best first. The last one runs everywhere.
constexpr std::array kMakers{
    Maker{"io_uring", detail::UringRing::why_unsupported, make_io_uring},
    Maker{"epoll", always_supported, make_epoll},
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

std::span<const std::string_view> engine_names() { return kNames; }

std::string why_unsupported(std::string_view name) {
  if (name == "auto") return {};
  const Maker* maker = find(name);
  return maker != nullptr ? maker->why_unsupported() : fmt::format("there is no engine called '{}'", name);
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  if (name != "auto") {
    const Maker* maker = find(name);
    if (maker == nullptr || !maker->why_unsupported().empty()) return fail(Trouble::kUnsupportedEngine);
    return maker->make();
  }
  std::string why;
  for (const Maker& maker : kMakers) {
    std::string reason = maker.why_unsupported();
    if (reason.empty()) {
      if (!why.empty()) PEAL_LOG_WARN("using the {} engine: {}", maker.name, why);
      return maker.make();
    }
    if (why.empty()) why = std::move(reason);
  }
  return fail(Trouble::kUnsupportedEngine);
}

}  // namespace peal
