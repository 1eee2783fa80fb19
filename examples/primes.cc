// SPDX-License-Identifier: BSD-3-Clause
// Sends the prime numbers, one on each line, to each client until it disconnects: `primes [ADDRESS]`. The threads of a
// pool compute the numbers, one thread for each client. The pool has eight threads, so a ninth client waits for a free
// thread. If a client reads slowly, only its own thread waits, and at most 64 KiB are queued for it.
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
        // Quoted in docs: [sender]
        bool taken = (*pool)->submit([sender = peal::BoundedSender(connection.handle(), 64 * 1024)]() mutable {
          for (uint64_t number = 2;; ++number) {
            if (is_prime(number) && !sender.send(fmt::format("{}\n", number))) return;  // the connection has ended
          }
        });
        // End of quote: [sender]
        if (!taken) connection.close();
      }});
}
