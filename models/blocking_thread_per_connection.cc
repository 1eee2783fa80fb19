// SPDX-License-Identifier: BSD-3-Clause
// blocking_thread_per_connection (MultiThread): a thread for each client, the easiest program that serves many.
//
//   main thread:  accept ──> start a thread ──> accept the next
//                              └──> thread: read ─> frames ─> work ─> write ─> ... until the client ends ─> gone
//
// Who accepts: the main thread. Who reads, computes and writes: a detached thread for each connection, in blocking
// calls. Work changes hands once, when the thread is started with the connection. It serves as many clients as there
// may be threads, at the price of a stack and a place in the scheduler for each. A connection for which there is no
// thread is closed at once. Silent clients cost memory, but stop nobody.
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

// Made before its thread is, so that the end waits for a thread that has not begun yet.
struct Guest {
  Guest(Fd accepted, BlockedThreads& sleepers) : socket(std::move(accepted)), place(sleepers, socket.get()) {}

  const Fd socket;
  const BlockedThreads::Place place;  // leaves first: the socket outlives it
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
        PEAL_LOG_WARN("no thread for a connection: {} ({} more like it)", started.error().message(), *more);
      }
    }
  }
  (*sleepers)->wait_until_left();
  return {};
}

}  // namespace peal::models
