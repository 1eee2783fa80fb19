// SPDX-License-Identifier: BSD-3-Clause
// The primes, a line each, to whoever connects, for as long as they like: `primes [ADDRESS]`. They are computed by a
// thread of a pool, eight clients at a time. A client that reads slowly slows down its own thread and holds 64 KiB.
#include <cstdint>

#include <examples/shared/service.h>

#include <peal/base/thread/thread_pool.h>
#include <peal/net/bounded_sender.h>

namespace {

bool is_prime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  auto pool = peal::ThreadPool::start({.threads = 8});
  if (!pool) return peal::examples::failed("cannot start the threads", pool.error());
  return peal::examples::serve(
      argc, argv, "127.0.0.1:2029", {.on_open = [&pool](peal::Connection& connection) {
        // [sender]
        bool taken = (*pool)->submit([sender = peal::BoundedSender(connection.handle(), 64 * 1024)]() mutable {
          for (uint64_t number = 2;; ++number) {
            if (is_prime(number) && !sender.send(fmt::format("{}\n", number))) return;  // the client has gone
          }
        });
        // [sender]
        if (!taken) connection.close();
      }});
}
