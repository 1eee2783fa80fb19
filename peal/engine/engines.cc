// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/engines.h>

#include <array>
#include <random>

#include <fmt/core.h>

#include <peal/engine/parts/epoll_poller.h>
#include <peal/engine/parts/poll_poller.h>
#include <peal/engine/parts/readiness_engine.h>
#include <peal/engine/parts/select_poller.h>
#include <peal/engine/parts/uring_poller.h>
#include <peal/engine/sim_world.h>

namespace peal {
namespace {

struct Maker {
  std::string_view name;
  std::string (*why_unsupported)();
  std::unique_ptr<Engine> (*make)();
};

std::string always_supported() { return {}; }

std::unique_ptr<Engine> make_io_uring() {
  return std::make_unique<detail::ReadinessEngine>("io_uring", detail::UringPoller::make);
}
std::unique_ptr<Engine> make_epoll() {
  return std::make_unique<detail::ReadinessEngine>("epoll", detail::EpollPoller::make);
}
std::unique_ptr<Engine> make_poll() {
  return std::make_unique<detail::ReadinessEngine>("poll", detail::PollPoller::make);
}
std::unique_ptr<Engine> make_select() {
  return std::make_unique<detail::ReadinessEngine>("select", detail::SelectPoller::make);
}

// A world of its own, in which nothing goes wrong.
std::unique_ptr<Engine> make_sim() { return SimWorld(1).make_engine(); }

// The first is what "auto" takes: it runs everywhere, and is nowhere far behind another (docs/engines.md).
constexpr std::array kMakers{
    Maker{"epoll", always_supported, make_epoll},
    Maker{"io_uring", detail::UringPoller::why_unsupported, make_io_uring},
    Maker{"poll", always_supported, make_poll},
    Maker{"select", always_supported, make_select},
    Maker{"sim", always_supported, make_sim},
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
