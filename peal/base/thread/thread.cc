// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/thread.h>

#include <system_error>

#include <peal/base/assert.h>

namespace peal {

Result<Thread> Thread::start(std::string_view name, Body body) {
  PEAL_ASSERT(body, "thread {} was given an empty body", name);
  try {
    return Thread(
        std::jthread([name = std::string(name), body = std::move(body)](const std::stop_token& stop) mutable noexcept {
          set_current_thread_name(name);
          body(stop);
        }));
  } catch (const std::system_error& error) {
    return fail(error.code().value());
  }
}

void Thread::join() {
  PEAL_ASSERT(joinable(), "the thread was never started, or has been joined");
  PEAL_ASSERT(id() != std::this_thread::get_id(), "thread {} calls join() on itself, which would never return",
              current_thread_name());
  thread_.join();
}

}  // namespace peal
