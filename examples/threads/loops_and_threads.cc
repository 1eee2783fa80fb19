// SPDX-License-Identifier: BSD-3-Clause
// Shows how threads use four loops, and prints the results:
// - posts, and timers that are cancelled
// - an object that lives on one loop, and an object that lives on all loops
// - a job that blocks
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <string>

#include <fmt/core.h>

#include <peal/coro/scope.h>
#include <peal/loop/loop_group.h>
#include <peal/share/loop_object.h>
#include <peal/share/remote_task.h>
#include <peal/share/sharded.h>
#include <peal/sync/async_pool.h>

using namespace peal;
using namespace std::chrono_literals;

namespace {

// Quoted in docs: [votes]
// Counts votes. An object of this class needs no lock and no atomics, because only one thread uses the object: the
// thread of its loop.
class Votes {
 public:
  void add(const std::string& name) { ++counts_[name]; }
  int of(const std::string& name) const {
    const auto found = counts_.find(name);
    return found != counts_.end() ? found->second : 0;
  }
  size_t names() const { return counts_.size(); }

 private:
  std::map<std::string, int> counts_;
};
// End of quote: [votes]

// Posts to the loop of another thread, and cancels two timers of that loop. Runs on the main thread.
void post_and_withdraw(Loop& loop) {
  // Quoted in docs: [posts]
  std::promise<void> ran;
  loop.post([&ran] { ran.set_value(); });  // returns false if the loop has stopped or its queue of posts is full
  const RemoteTask alarm = after_on(loop, 1h, [] { fmt::print("an hour has passed\n"); });
  const RemoteTask ticks = every_on(loop, 1h, [] { fmt::print("tick\n"); });
  const bool in_time = alarm.cancel() && ticks.cancel();  // true if neither lambda will be called
  // End of quote: [posts]
  ran.get_future().wait();
  fmt::print("withdrawn in time: {}\n", in_time);
}

// Quoted in docs: [actor]
Task<int> vote(const OnLoop<Votes>& votes, std::string name) {
  votes.tell([name](Votes& there) { there.add(name); });  // does not wait; any thread may call tell()
  // ask() calls the lambda on the loop of `votes`, and returns the result to this coroutine. If a minute passes before
  // the lambda has begun, the lambda is not called. If the lambda has begun by then, the coroutine waits until the
  // lambda has ended. The lambda may therefore use references to local variables of the coroutine.
  const Result<int> count = co_await votes.ask([&](const Votes& there) { return there.of(name); }).within(1min);
  co_return count.value_or(0);
}
// End of quote: [actor]

// Quoted in docs: [sharded]
Task<size_t> vote_everywhere(const Sharded<Votes>& votes) {
  for (const std::string name : {"ash", "birch", "cedar", "elm", "fir"}) {
    votes.tell(name, [name](Votes& there) { there.add(name); });  // goes to the loop that `name` belongs to
  }
  size_t names = 0;
  const auto counts = co_await votes.ask_all([](const Votes& there) { return there.names(); });
  for (const Result<size_t>& count : counts) names += count.value_or(0);
  co_return names;
}
// End of quote: [sharded]

// Quoted in docs: [pool]
Task<uint64_t> sum(AsyncPool& pool, uint64_t most) {
  auto job = [most] {  // runs on a thread of the pool, so it may block
    uint64_t sum = 0;
    for (uint64_t number = 1; number <= most; ++number) sum += number;
    return sum;
  };
  const Result<uint64_t> answer = co_await pool.run(job);  // fails if the pool is full
  co_return answer.value_or(0);
}
// End of quote: [pool]

Task<> use_all(const OnLoop<Votes>& one, const Sharded<Votes>& all, AsyncPool& pool, std::promise<void>& over) {
  fmt::print("votes for elm: {}\n", co_await vote(one, "elm"));
  fmt::print("names on all loops: {}\n", co_await vote_everywhere(all));
  fmt::print("sum: {}\n", co_await sum(pool, 1000));
  over.set_value();
}

}  // namespace

int main() {
  const auto pool = AsyncPool::start({.threads = 2});
  // Quoted in docs: [group]
  const auto started = LoopGroup::start(4);  // starts four threads, each with a loop
  if (!started) {
    fmt::print(stderr, "cannot start the loops: {}\n", started.error().message());
    return 1;
  }
  LoopGroup& loops = **started;
  // End of quote: [group]
  if (!pool) return 1;
  post_and_withdraw(loops[0]);

  // Quoted in docs: [made]
  const OnLoop<Votes> one(loops[3]);  // created and destroyed on the thread of that loop
  const Sharded<Votes> all(loops);    // one object on each loop
  // End of quote: [made]
  std::promise<void> over;
  std::unique_ptr<Scope> scope;
  loops[1].post([&] {
    scope = std::make_unique<Scope>(loops[1]);
    scope->spawn(use_all(one, all, **pool, over));
  });
  over.get_future().wait();
  loops.stop();
  loops.join();  // the scope may be destroyed now: its loop has ended
  return 0;
}
