// SPDX-License-Identifier: BSD-3-Clause
// RefusingEngine: another engine that refuses to watch what the test says.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <tests/support/engines/forwarding_engine.h>

namespace peal::test {

class RefusingEngine final : public ForwardingEngine {
 public:
  // What watch() fails with; none: the other engine decides.
  using Refusal = std::function<std::error_code(int fd)>;

  RefusingEngine(std::unique_ptr<Engine> engine, Refusal refusal)
      : ForwardingEngine(std::move(engine)), refusal_(std::move(refusal)) {}

  Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) override {
    if (const std::error_code error = refusal_(fd)) return std::unexpected(error);
    return ForwardingEngine::watch(fd, readable, writable, events);
  }
  // The kernel's, over this engine's watch().
  Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                    DatagramEvents& events) override {
    return Engine::open_datagrams(local, options, events);
  }

 private:
  const Refusal refusal_;
};

}  // namespace peal::test
