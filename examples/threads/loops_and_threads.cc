// SPDX-License-Identifier: BSD-3-Clause
// Four loops and what threads do with them: posts and timers that are withdrawn, an object that lives on one loop, one
// that lives on all of them, and a question that blocks. Prints what came of it.
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

// [votes]
// No lock and no atomic: whoever touches it is on its loop's thread.
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
// [votes]

// From main's thread.
void post_and_withdraw(Loop& loop) {
  // [posts]
  std::promise<void> ran;
  loop.post([&ran] { ran.set_value(); });  // false: the loop has stopped, or too many posts wait
  const RemoteTask alarm = after_on(loop, 1h, [] { fmt::print("an hour has passed\n"); });
  const RemoteTask ticks = every_on(loop, 1h, [] { fmt::print("tick\n"); });
  const bool in_time = alarm.cancel() && ticks.cancel();  // true: neither is called any more
  // [posts]
  ran.get_future().wait();
  fmt::print("withdrawn in time: {}\n", in_time);
}

// [actor]
Task<int> vote(const OnLoop<Votes>& votes, std::string name) {
  votes.tell([name](Votes& there) { there.add(name); });  // on its way; any thread may
  // There and back. What is asked may refer to this frame, which waits for it.
  const Result<int> count = co_await votes.ask([&](const Votes& there) { return there.of(name); }).within(1min);
  co_return count.value_or(0);
}
// [actor]

// [sharded]
Task<size_t> vote_everywhere(const Sharded<Votes>& votes) {
  for (const std::string name : {"ash", "birch", "cedar", "elm", "fir"}) {
    votes.tell(name, [name](Votes& there) { there.add(name); });  // to the loop that `name` belongs to
  }
  size_t names = 0;
  const auto counts = co_await votes.ask_all([](const Votes& there) { return there.names(); });
  for (const Result<size_t>& count : counts) names += count.value_or(0);
  co_return names;
}
// [sharded]

// [pool]
Task<uint64_t> sum(AsyncPool& pool, uint64_t most) {
  auto job = [most] {  // on a thread of the pool, which may take its time
    uint64_t sum = 0;
    for (uint64_t number = 1; number <= most; ++number) sum += number;
    return sum;
  };
  const Result<uint64_t> answer = co_await pool.run(job);  // an error: the pool is full
  co_return answer.value_or(0);
}
// [pool]

Task<> use_all(const OnLoop<Votes>& one, const Sharded<Votes>& all, AsyncPool& pool, std::promise<void>& over) {
  fmt::print("votes for elm: {}\n", co_await vote(one, "elm"));
  fmt::print("names on all loops: {}\n", co_await vote_everywhere(all));
  fmt::print("sum: {}\n", co_await sum(pool, 1000));
  over.set_value();
}

}  // namespace

int main() {
  const auto pool = AsyncPool::start({.threads = 2});
  // [group]
  const auto started = LoopGroup::start(4);  // four threads, each running a loop
  if (!started) {
    fmt::print(stderr, "no loops: {}\n", started.error().message());
    return 1;
  }
  LoopGroup& loops = **started;
  // [group]
  if (!pool) return 1;
  post_and_withdraw(loops[0]);

  // [made]
  const OnLoop<Votes> one(loops[3]);  // made on that loop's thread, and destroyed there
  const Sharded<Votes> all(loops);    // one on each loop
  // [made]
  std::promise<void> over;
  std::unique_ptr<Scope> scope;
  loops[1].post([&] {
    scope = std::make_unique<Scope>(loops[1]);
    scope->spawn(use_all(one, all, **pool, over));
  });
  over.get_future().wait();
  loops.stop();
  loops.join();  // the scope's loop has ended: it may go
  return 0;
}
