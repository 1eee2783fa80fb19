// SPDX-License-Identifier: BSD-3-Clause
// Thread is a std::jthread that has a name, which `top -H`, gdb and perf show. Its start can fail and returns a Result.
//
// Start and join a Thread on one thread at a time. The destructor calls request_stop() and then joins.
#pragma once

#include <stop_token>
#include <string_view>
#include <thread>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/base/this_thread.h>

namespace peal {

class Thread {
 public:
  // The type of the function that the thread runs. The argument tells the function whether request_stop() has been
  // called.
  using Body = Callback<void(const std::stop_token&)>;

  // Makes an object that has no thread.
  Thread() = default;

  // Starts a new thread, which sets its name to `name` and then calls `body`. An exception that leaves `body`
  // terminates the process. Returns EAGAIN if a limit of threads is reached: that of the machine, the user or the
  // cgroup.
  static Result<Thread> start(std::string_view name, Body body);

  // True if the object has a thread that has not been joined.
  bool joinable() const { return thread_.joinable(); }

  // Waits until the body has returned. Asserts if joinable() is false, or if join() is called on the thread itself.
  void join();

  // Asks the body to end, through its stop token. Returns false if request_stop() was called before. Any thread.
  bool request_stop() { return thread_.request_stop(); }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  explicit Thread(std::jthread thread) : thread_(std::move(thread)) {}

  std::jthread thread_;
};

}  // namespace peal
