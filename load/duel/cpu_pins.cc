// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/cpu_pins.h>

#include <sched.h>

namespace peal::load {
namespace {

void use(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  // An error of sched_setaffinity(2) is ignored. The call fails if none of `cpus` is available any more. The thread
  // then keeps the CPUs that it has. That is acceptable, because a duel also works without pinned CPUs.
  static_cast<void>(::sched_setaffinity(0, sizeof set, &set));
}

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

CpuPins CpuPins::of(size_t server_threads, size_t client_threads) {
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < server_threads + client_threads) return {};
  const auto middle = cpus.begin() + static_cast<ptrdiff_t>(server_threads);
  return {.server = {cpus.begin(), middle}, .client = {middle, middle + static_cast<ptrdiff_t>(client_threads)}};
}

PinnedHere::PinnedHere(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  before_ = usable_cpus();
  use(cpus);
}

PinnedHere::~PinnedHere() {
  if (!before_.empty()) use(before_);
}

}  // namespace peal::load
