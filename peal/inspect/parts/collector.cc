// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/collector.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include <peal/base/thread/thread.h>

namespace peal::detail {

struct Collector::WatchedLoop {
  explicit WatchedLoop(std::shared_ptr<Mailbox> its_mailbox) : mailbox(std::move(its_mailbox)) {}

  const std::shared_ptr<Mailbox> mailbox;
  bool added = false;              // true if add_loop() was called, so that the loop is shown without a server
  bool in_round = false;           // true if the loop is part of the round in progress
  std::atomic<bool> owes = false;  // true while the loop has not answered; cleared on the loop's thread
  TimePoint asked{};               // when the loop was asked last
  Answer last;                     // the latest answer
};

namespace {

Duration cpu_time(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Reads the figures of a loop. Must be called on the loop's thread.
LoopSnapshot take_loop_snapshot(Loop& loop, size_t number) {
  LoopSnapshot seen{.number = number, .answered = true};
  seen.thread = current_thread_name();
  seen.thread_id = current_thread_id();
  seen.engine = loop.engine().name();
  seen.cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID);
  seen.timers = loop.timers_pending();
  seen.stats = loop.stats();
  seen.engine_stats = loop.engine().stats();
  seen.blocks = BlockPool::here().stats();
  if (const TurnTimes* times = loop.turn_times()) seen.times = *times;
  if (const FlightRecorder* recorder = loop.flight_recorder()) seen.recorder_events = recorder->capacity();
  return seen;
}

}  // namespace

void Collector::add_loop(const std::shared_ptr<Mailbox>& mailbox) { watched_loop(mailbox).added = true; }

void Collector::remove_loop(const Mailbox& mailbox) {
  if (const size_t number = loop_number(mailbox); number < loops_.size()) loops_[number]->added = false;
}

Collector::WatchedLoop& Collector::watched_loop(const std::shared_ptr<Mailbox>& mailbox) {
  const size_t number = loop_number(*mailbox);
  if (number < loops_.size()) return *loops_[number];
  loops_.push_back(std::make_shared<WatchedLoop>(mailbox));
  if (options_.measure_turns) {
    mailbox->insist([mailbox] {
      if (Loop* loop = mailbox->here()) loop->measure_turns();
    });
  }
  return *loops_.back();
}

bool Collector::is_shown(const WatchedLoop& watched) const {
  const auto is_on_it = [&](const auto& view) { return view.mailbox() == watched.mailbox; };
  const auto has_part = [&](const ShownServer& shown) { return std::ranges::any_of(shown.views, is_on_it); };
  return watched.added || std::ranges::any_of(servers_, has_part);
}

void Collector::add_server(std::string name, Server& server, ServerFigures figures) {
  ShownServer shown{
      .name = std::move(name), .life = server.life(), .figures = std::move(figures), .views = server.views()};
  if (shown.name.empty()) shown.name = fmt::format("server {}", servers_.size());
  for (const ConnectionsView& view : shown.views) watched_loop(view.mailbox());
  servers_.push_back(std::move(shown));
}

void Collector::remove_server(const Server& server) {
  for (ShownServer& shown : servers_) {
    if (shown.life == server.life()) shown = {};
  }
}

// Removes servers that were destroyed without remove_server(). ServerLife::run() returns false for these.
void Collector::forget_destroyed_servers() {
  for (ShownServer& shown : servers_) {
    if (shown.life && !shown.life->run([](Server&) {})) shown = {};
  }
}

void Collector::forget_all() {
  for (ShownServer& shown : servers_) shown = {};
  for (const auto& watched : loops_) watched->added = false;
  watchdogs_.clear();
}

size_t Collector::loop_number(const Mailbox& mailbox) const {
  const auto found = std::ranges::find_if(loops_, [&](const auto& each) { return each->mailbox.get() == &mailbox; });
  return static_cast<size_t>(found - loops_.begin());
}

void Collector::collect(const Wanted& wanted, Done done) {
  auto round = std::ranges::find(rounds_, wanted, &Round::wanted);
  if (round == rounds_.end()) round = rounds_.insert(round, Round{.wanted = wanted, .waiting = {}});
  round->waiting.push_back(std::move(done));
  if (!in_round_) begin_round();
}

void Collector::begin_round() {
  in_round_ = true;
  forget_destroyed_servers();
  snapshot_ = {};
  snapshot_.loops.resize(loops_.size());
  for (size_t i = 0; i < servers_.size(); ++i) {
    const ShownServer& shown = servers_[i];
    snapshot_.servers.push_back({.number = i, .name = shown.name});
  }
  // The count starts at 1, so that loops that answer during this call cannot finish the round before all loops are
  // asked.
  outstanding_ = 1;
  for (size_t i = 0; i < loops_.size(); ++i) {
    loops_[i]->in_round = is_shown(*loops_[i]);
    if (!loops_[i]->in_round) continue;
    ++outstanding_;
    ask_loop(i);
  }
  if (--outstanding_ == 0) finish();
}

std::vector<Collector::View> Collector::views_on(const Mailbox& mailbox) const {
  const Wanted& wanted = rounds_.front().wanted;
  std::vector<View> views;
  for (size_t i = 0; i < servers_.size(); ++i) {
    for (size_t part = 0; part < servers_[i].views.size(); ++part) {
      const ShownServer& shown = servers_[i];
      if (shown.views[part].mailbox().get() != &mailbox) continue;
      View& view = views.emplace_back(View{.name = {.server = i, .part = part}, .connections = shown.views[part]});
      const ServerFigures& figures = shown.figures;
      if (part < figures.http.size()) view.http = figures.http[part];
      if (part < figures.methods.size()) view.methods = figures.methods[part];
      if (part < figures.routes.size()) view.routes = figures.routes[part];
      if (wanted.server.value_or(i) == i) view.wanted = wanted.connections;
    }
  }
  return views;
}

void Collector::ask_loop(size_t number) {
  const std::shared_ptr<WatchedLoop>& watched = loops_[number];
  if (watched->owes.exchange(true)) return add_answer(number, std::nullopt);
  watched->asked = loop_.now();
  auto work = [watched, number, views = views_on(*watched->mailbox)] {
    Answer answer{.loop = take_loop_snapshot(*watched->mailbox->here(), number)};
    for (const View& view : views) {
      Share share{.server = view.name.server, .stats = view.connections.stats()};
      share.layer = view.connections.layer_stats();
      if (view.http) share.http = view.http();
      if (view.methods) share.methods = view.methods();
      if (view.routes) share.routes = view.routes();
      if (view.wanted) {
        const ConnectionList list = view.connections.list(*view.wanted);
        share.matched = list.matched;
        for (size_t i = 0; i < list.facts.size(); ++i) {
          ConnectionRow row{.name = view.name, .loop = number, .rank = list.ranks[i], .facts = list.facts[i]};
          row.name.slot = row.facts.slot;
          row.name.generation = row.facts.generation;
          share.rows.push_back(std::move(row));
        }
      }
      answer.shares.push_back(std::move(share));
    }
    watched->owes.store(false);
    return answer;
  };
  ask(loop_, *watched->mailbox, options_.reply_timeout, std::move(work),
      [self = shared_from_this(), number](std::optional<Answer> answer) {
        self->add_answer(number, std::move(answer));
      });
}

void Collector::add_answer(size_t number, std::optional<Answer> answer) {
  WatchedLoop& watched = *loops_[number];
  LoopSnapshot& loop = snapshot_.loops[number];
  if (answer) watched.last = std::move(*answer);
  // If the loop has not answered, the answer of an earlier round is used again. Otherwise the counters would seem to
  // fall.
  for (const Share& share : watched.last.shares) {
    ServerSnapshot& server = snapshot_.servers[share.server];
    server.stats += share.stats;
    if (answer && share.layer) servers_[share.server].layer = share.layer;
    if (share.http) server.http = server.http.value_or(HttpStats()) += *share.http;
    add_methods(server.methods, share.methods);
    add_routes(server.routes, share.routes.routes);
    std::ranges::copy(share.routes.slowest, std::back_inserter(server.slowest));
    if (!answer) continue;
    server.matched += share.matched;
    std::ranges::copy(share.rows, std::back_inserter(server.rows));
  }
  for (ServerSnapshot& server : snapshot_.servers) {
    const std::vector<ConnectionsView>& views = servers_[server.number].views;
    if (answer) break;
    server.partial |= std::ranges::any_of(views, [&](const auto& view) { return view.mailbox() == watched.mailbox; });
  }
  loop = watched.last.loop;
  loop.number = number;
  loop.answered = answer.has_value();
  loop.ended = !watched.mailbox->open();
  loop.tasks_waiting = watched.mailbox->waiting();
  if (!answer && !loop.ended) loop.silent = loop_.engine().now() - watched.asked;
  if (--outstanding_ == 0) finish();
}

void Collector::finish() {
  snapshot_.taken = std::chrono::system_clock::now();
  snapshot_.now = monotonic_now();
  forget_destroyed_servers();
  std::erase_if(snapshot_.servers, [this](const auto& each) { return servers_[each.number].life == nullptr; });
  for (size_t i = snapshot_.loops.size(); i-- > 0;) {
    if (loops_[i]->in_round && is_shown(*loops_[i])) continue;
    snapshot_.loops.erase(snapshot_.loops.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Connections are counted on this thread, so loops that did not answer are included. They are counted after the
  // answers, because otherwise the count could be lower than the connections that the answers report as opened.
  for (ServerSnapshot& server : snapshot_.servers) {
    const ShownServer& shown = servers_[server.number];
    for (const ConnectionsView& view : shown.views) server.connections += view.count();
    shown.life->run([&](const Server& its_server) {
      server.draining = its_server.draining();
      if (shown.figures.tasks) server.tasks = shown.figures.tasks();
    });
    server.layer = shown.layer;
    std::ranges::sort(server.slowest, std::ranges::greater(), &SlowRequest::took);
  }
  snapshot_.watched = !watchdogs_.empty();
  for (const StallWatchdog* watchdog : watchdogs_) {
    std::ranges::move(watchdog->recent(), std::back_inserter(snapshot_.stalls));
  }
  snapshot_.process = read_process_facts(::getpid()).value_or(ProcessFacts());
  snapshot_.process_cpu = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  if (rounds_.front().wanted.details) {
    snapshot_.threads = read_thread_facts(::getpid()).value_or(std::vector<ThreadFacts>());
    snapshot_.system = read_system_facts();
  }
  snapshot_.marks = MemoryBudget::marks();
  snapshot_.held_bytes = MemoryBudget::held_bytes();
  snapshot_.log_level = peal::log_level();
  snapshot_.metrics = read_metrics();
  const Snapshot taken = std::move(snapshot_);
  Round round = std::move(rounds_.front());
  rounds_.pop_front();
  in_round_ = false;
  for (Done& done : round.waiting) done(taken);
  if (!in_round_ && !rounds_.empty()) begin_round();
}

const ConnectionsView* Collector::find_view(const ConnectionName& name) const {
  if (name.server >= servers_.size() || name.part >= servers_[name.server].views.size()) return nullptr;
  return &servers_[name.server].views[name.part];
}

std::shared_ptr<ServerLife> Collector::server(size_t number) const {
  return number < servers_.size() ? servers_[number].life : nullptr;
}

void Collector::describe(const ConnectionName& name, Callback<void(std::optional<ConnectionDetail>)> done) {
  const ConnectionsView* there = find_view(name);
  if (there == nullptr) return done(std::nullopt);
  auto work = [view = *there, name] {
    Loop& loop = *view.mailbox()->here();
    ConnectionDetail detail{.name = name, .facts = view.find(name.slot, name.generation)};
    detail.recorded = loop.flight_recorder() != nullptr;
    detail.events = view.flight(name.slot, name.generation, kMostFlightEvents);
    detail.now = loop.now();
    return detail;
  };
  ask(loop_, *there->mailbox(), options_.reply_timeout, std::move(work), std::move(done));
}

void Collector::end_connection(const ConnectionName& name, EndHow how, Callback<void(std::optional<bool>)> done) {
  const ConnectionsView* there = find_view(name);
  if (there == nullptr) return done(false);
  auto work = [view = *there, name, how] { return view.end(name.slot, name.generation, how); };
  ask(loop_, *there->mailbox(), options_.reply_timeout, std::move(work), std::move(done));
}

}  // namespace peal::detail
