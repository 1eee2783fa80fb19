// SPDX-License-Identifier: BSD-3-Clause
// RefusingEngine: passes all calls to another engine. Its watch() fails if the test wants it to fail.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <tests/support/engines/forwarding_engine.h>

namespace peal::test {

class RefusingEngine final : public ForwardingEngine {
 public:
  // A function of the test. If it returns an error for `fd`, watch() fails with this error. Otherwise the wrapped
  // engine handles the call.
  using Refusal = std::function<std::error_code(int fd)>;

  RefusingEngine(std::unique_ptr<Engine> engine, Refusal refusal)
      : ForwardingEngine(std::move(engine)), refusal_(std::move(refusal)) {}

  Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) override {
    if (const std::error_code error = refusal_(fd)) return std::unexpected(error);
    return ForwardingEngine::watch(fd, readable, writable, events);
  }
  // Opens a datagram socket by the default implementation of Engine. The default implementation calls watch() of this
  // object, so the test can make that call fail, too. The wrapped engine's open_datagrams() would call the wrapped
  // engine's watch(), which never calls the test's function.
  Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                    DatagramEvents& events) override {
    return Engine::open_datagrams(local, options, events);
  }

 private:
  const Refusal refusal_;
};

}  // namespace peal::test
