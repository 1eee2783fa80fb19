// SPDX-License-Identifier: BSD-3-Clause
// main_sub_threads (EpollReactorThreadPoolMS): main reactors accept, sub reactors serve.
//
//   main reactor:  epoll_wait ─> accept ──┬─ epoll_ctl(ADD) ──> epoll of sub reactor 0 ──> read, work, write
//   (--io-threads of them,                ├─ epoll_ctl(ADD) ──> epoll of sub reactor 1 ──> read, work, write
//    one shared listener)                 └─ ... in turn        (--workers of them)
//
// The main threads accept connections. Each connection then goes to a sub thread, which reads, computes and writes for
// it until the connection ends. So a connection moves to another thread only once. No queue is needed, because one
// thread may change an epoll while another thread sleeps in it. The main thread adds the socket directly to the epoll
// of the next sub reactor. The first bytes of the connection wake that reactor. With --wait-for-readable, the main
// thread adds the socket only when its first bytes have arrived.
//
// Limits: the load is not balanced, because round-robin spreads connections evenly, whatever load each of them has.
// While a request computes in a sub reactor, the other connections of that reactor wait.
#include <utility>

#include <fmt/format.h>

#include <models/common/reactor/epoll_reactor.h>
#include <models/common/workers/run_together.h>
#include <models/models.h>

namespace peal::models {
namespace {

using Reactors = std::vector<std::unique_ptr<EpollReactor>>;

Result<Reactors> make_reactors(ModelRun& run, size_t count) {
  Reactors reactors;
  for (size_t i = 0; i < count; ++i) {
    auto reactor = EpollReactor::make(run.options, run.stop, run.statistics);
    if (!reactor) return std::unexpected(reactor.error());
    reactors.push_back(std::move(*reactor));
  }
  return reactors;
}

// Returns a function that hands connections to the sub reactors, round-robin. The first connection goes to the sub
// reactor with the index `first`.
EpollReactor::HandOver in_turn(const Reactors& subs, size_t first) {
  return [&subs, next = first](Fd socket) mutable { return subs[next++ % subs.size()]->add(std::move(socket)); };
}

}  // namespace

Result<void> main_sub_threads(ModelRun& run) {
  const Result<Reactors> subs = make_reactors(run, run.options.workers);
  if (!subs) return std::unexpected(subs.error());
  const Result<Reactors> mains = make_reactors(run, run.options.io_threads);
  if (!mains) return std::unexpected(mains.error());
  const HandOverWhen when = run.options.wait_for_readable ? HandOverWhen::kReadable : HandOverWhen::kAccepted;
  std::vector<ThreadRole> roles;
  for (size_t i = 0; i < mains->size(); ++i) {
    auto listening = (*mains)[i]->listen(run.listener.get(), in_turn(*subs, i), when);
    if (!listening) return listening;
    roles.push_back({fmt::format("main {}", i), [main = (*mains)[i].get()] { return main->run(); }});
  }
  for (size_t i = 0; i < subs->size(); ++i) {
    roles.push_back({fmt::format("sub {}", i), [sub = (*subs)[i].get()] { return sub->run(); }});
  }
  return run_together(roles);
}

}  // namespace peal::models
