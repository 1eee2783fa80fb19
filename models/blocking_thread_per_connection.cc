// SPDX-License-Identifier: BSD-3-Clause
// blocking_thread_per_connection (MultiThread): a thread for each client, the simplest program that serves many
// clients.
//
//   main thread:  accept ──> start a thread ──> accept the next
//                              └──> thread: read ─> frames ─> work ─> write ─> ... until the client ends ─> gone
//
// The main thread accepts connections. It starts a detached thread for each connection, which reads, computes and
// writes in blocking calls. A connection moves to another thread once, when its own thread starts.
//
// The service handles as many clients as there can be threads. The price of each thread is a stack and a place in the
// kernel's scheduler. If no thread can be started, the connection is closed immediately. Silent clients cost memory,
// but delay no other client.
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <models/common/blocking_service.h>
#include <models/models.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>

namespace peal::models {
namespace {

// The socket of one connection, and its registration in BlockedThreads (`place`). The main thread makes both before it
// starts the connection's thread. The connection's thread destroys both when it ends. When the model ends, the main
// thread waits until no socket is registered any more (wait_until_left()). The registration is made before the thread
// starts, so that the main thread also waits for threads that do not run yet.
struct Guest {
  Guest(Fd accepted, BlockedThreads& sleepers) : socket(std::move(accepted)), place(sleepers, socket.get()) {}

  const Fd socket;
  const BlockedThreads::Place place;  // declared last, so it is destroyed before the socket
};

Result<void> start_thread(Fd client, ModelRun& run, BlockedThreads& sleepers) {
  try {
    auto guest = std::make_unique<Guest>(std::move(client), sleepers);
    std::thread([guest = std::move(guest), &run] {
      set_current_thread_name("client");
      serve_and_count(guest->socket.get(), run);
    }).detach();
    return {};
  } catch (const std::system_error& error) {
    return std::unexpected(error.code());
  }
}

}  // namespace

Result<void> blocking_thread_per_connection(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  {
    const BlockedThreads::Place place(**sleepers, run.listener.get());
    LogLimiter limiter{std::chrono::seconds(1)};
    while (Fd client = accept_next(run.listener.get(), run.statistics, sleepers->get())) {
      const Result<void> started = start_thread(std::move(client), run, **sleepers);
      if (started) continue;
      count_one(run.statistics, &Tally::refused);
      if (const auto more = limiter.admit(monotonic_now())) {
        PEAL_LOG_WARN("closed a connection, because no thread could be started for it: {} ({} more like it)",
                      started.error().message(), *more);
      }
    }
  }
  (*sleepers)->wait_until_left();
  return {};
}

}  // namespace peal::models
