// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/loop_group.h>

#include <cerrno>
#include <future>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace peal {

// A future for each loop tells whether the loop has started. The loop's first task sets the future, or the thread does
// if run() fails. A failed run() destroys the task without a call.
Result<std::unique_ptr<LoopGroup>> LoopGroup::start(size_t count, const LoopOptions& options, const std::string& name) {
  if (count == 0) return fail(EINVAL);
  std::unique_ptr<LoopGroup> group(new LoopGroup);
  for (size_t i = 0; i < count; ++i) {
    Result<std::unique_ptr<Loop>> made = Loop::make(options);
    if (!made) return std::unexpected(made.error());
    Loop& loop = *group->loops_.emplace_back(std::move(*made));
    auto outcome = std::make_shared<std::promise<std::error_code>>();
    loop.post([outcome] { outcome->set_value({}); });
    const std::string number = fmt::format("-{}", i);
    const std::string_view kept = std::string_view(name).substr(0, kMaxThreadNameBytes - number.size());
    Result<Thread> thread = Thread::start(fmt::format("{}{}", kept, number), [&loop, outcome](const std::stop_token&) {
      if (const Result<void> ran = loop.run(); !ran) outcome->set_value(ran.error());
    });
    if (!thread) return std::unexpected(thread.error());
    group->threads_.push_back(std::move(*thread));
    if (const std::error_code error = outcome->get_future().get()) return std::unexpected(error);
  }
  return group;
}

LoopGroup::LoopGroup(std::vector<std::unique_ptr<Loop>> stepped) : stepped_(true), loops_(std::move(stepped)) {
  PEAL_ASSERT(!loops_.empty(), "a group of {} loops", loops_.size());
}

// All loops end before the first of them is destroyed, because their tasks may refer to each other's loops.
LoopGroup::~LoopGroup() {
  stop();
  join();
}

void LoopGroup::stop() {
  for (const std::unique_ptr<Loop>& loop : loops_) loop->stop();
}

void LoopGroup::join() {
  for (Thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  if (!stepped_) return;
  for (const std::unique_ptr<Loop>& loop : loops_) {
    loop->assert_here();
    loop->end();
  }
}

}  // namespace peal
