// SPDX-License-Identifier: BSD-3-Clause
// Which CPUs the servers of a duel and its generator have to themselves.
#pragma once

#include <cstddef>
#include <vector>

namespace peal::load {

// Those that this thread may use, the lowest first.
std::vector<int> usable_cpus();

struct CpuPins {
  std::vector<int> server;  // empty, both: too few CPUs to keep the two apart, nothing is pinned
  std::vector<int> client;

  // The first `server_threads` of the CPUs that this thread may use, and as many behind them as the generator has.
  static CpuPins of(size_t server_threads, size_t client_threads);
};

// While it lives the calling thread, and what it starts, stays on these CPUs; then where it was. None: nothing changes.
class PinnedHere {
 public:
  explicit PinnedHere(const std::vector<int>& cpus);
  ~PinnedHere();
  PinnedHere(const PinnedHere&) = delete;
  PinnedHere& operator=(const PinnedHere&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace peal::load
