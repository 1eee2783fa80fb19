// SPDX-License-Identifier: BSD-3-Clause
// CpuPins: which CPUs the servers of a duel may use, and which the load generator may use.
#pragma once

#include <cstddef>
#include <vector>

namespace peal::load {

// Returns the numbers of the CPUs on which the calling thread may run, in ascending order.
std::vector<int> usable_cpus();

struct CpuPins {
  std::vector<int> server;  // both lists are empty if there are too few CPUs; then nothing is pinned
  std::vector<int> client;

  // Chooses from the CPUs on which the calling thread may run (usable_cpus()). The first `server_threads` CPUs are for
  // the servers, and the next `client_threads` CPUs are for the load generator. Returns two empty lists if there are
  // too few CPUs.
  static CpuPins of(size_t server_threads, size_t client_threads);
};

// The constructor restricts the calling thread to the CPUs `cpus`. Threads and processes that the thread starts later
// inherit the restriction. The destructor gives the thread its earlier CPUs back. If `cpus` is empty, nothing changes.
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
