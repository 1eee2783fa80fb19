// SPDX-License-Identifier: BSD-3-Clause
// libio_accept_thread (libio's reactors with an accept thread): one thread only accepts.
//
//   accept thread:  accept ─> round-robin ─┬─> queue under a mutex ─ eventfd ─> worker 0: a reactor over epoll
//                                          ├─> queue under a mutex ─ eventfd ─> worker 1: take ─> register; then
//                                          └─> ...                              read ─> frames ─> work ─> write
//   --queues one:   accept ───────────────────> one queue ────────── eventfd ─> whichever worker wakes
//
// Who accepts: one thread, in blocking calls. Who reads, computes and writes: the worker that took the connection, for
// as long as it lasts. What changes hands is the connection, once: pushed into a locked queue, with one write to the
// eventfd that the worker's epoll has. With a queue each, connections are spread evenly and nobody else contends for a
// worker's lock; with one shared queue who is free takes the next, and all contend for it. The hand-over costs every
// connection a lock, an eventfd's write and read, and a switch of threads: main_sub_threads adds the connection
// straight into the worker's epoll instead. Short connections feel it, long ones do not.
#include <sys/eventfd.h>

#include <deque>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/polled_echo.h>
#include <models/models.h>

namespace peal::models {
namespace {

// Connections on their way; the eventfd counts them, and each read of it takes one. An empty Fd tells whoever takes it
// that there will be no more. Any thread.
class Inbox {
 public:
  static Result<std::unique_ptr<Inbox>> make() {
    auto inbox = std::make_unique<Inbox>();
    inbox->count_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    if (!inbox->count_) return fail(errno);
    return inbox;
  }
  int fd() const { return count_.get(); }

  void push(Fd socket) {
    {
      MutexLock lock(mutex_);
      waiting_.push_back(std::move(socket));
    }
    ::eventfd_write(count_.get(), 1);
  }
  // False: another worker has taken it.
  bool take(Fd& socket) {
    eventfd_t one = 0;
    if (::eventfd_read(count_.get(), &one) != 0) return false;
    MutexLock lock(mutex_);
    PEAL_ASSERT(!waiting_.empty(), "the eventfd counts more connections than wait");
    socket = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
  }

 private:
  Mutex mutex_;
  std::deque<Fd> waiting_ PEAL_GUARDED_BY(mutex_);
  Fd count_;
};

// A thread with a reactor, which an inbox feeds.
class InboxWorker final : private PollerReactor::Handler {
 public:
  static Result<std::unique_ptr<InboxWorker>> start(ModelRun& run, Inbox& inbox) {
    std::unique_ptr<InboxWorker> worker(new InboxWorker(inbox));
    Result<std::unique_ptr<PollerReactor>> reactor =
        PollerReactor::make(PollerKind::kEpoll, run.options.events_per_wait);
    if (!reactor) return std::unexpected(reactor.error());
    worker->reactor_ = std::move(*reactor);
    worker->echo_ = std::make_unique<PolledEcho>(run.options, run.statistics, *worker->reactor_);
    Result<void> added = worker->reactor_->add(inbox.fd(), PollFor::kRead, *worker, Wake::kOne);
    if (!added) return std::unexpected(added.error());
    Result<Thread> thread = Thread::start("worker", [self = worker.get()](const std::stop_token&) { self->work(); });
    if (!thread) return std::unexpected(thread.error());
    worker->thread_ = std::move(*thread);
    return worker;
  }

 private:
  explicit InboxWorker(Inbox& inbox) : inbox_(inbox) {}

  void work() {
    const Result<void> ran = echo_->run();
    PEAL_ASSERT(ran.has_value(), "a worker cannot wait: {}", ran.error().message());
    echo_.reset();  // closes its connections
  }
  // One a wake: others may want the next.
  void on_ready(int) override {
    Fd socket;
    if (!inbox_.take(socket)) return;
    if (!socket) return reactor_->stop();
    echo_->serve(std::move(socket));
  }

  Inbox& inbox_;
  std::unique_ptr<PollerReactor> reactor_;
  std::unique_ptr<PolledEcho> echo_;
  Thread thread_;  // destroyed, so joined, first
};

// The workers and what feeds them. Ends them when it is destroyed.
class Hall {
 public:
  explicit Hall(ModelRun& run) : run_(run) {}
  Hall(const Hall&) = delete;
  Hall& operator=(const Hall&) = delete;
  ~Hall() {
    for (size_t i = 0; i < workers_.size(); ++i) inbox_of(i).push({});
    workers_.clear();
  }

  Result<void> open() {
    for (size_t i = 0; i < run_.options.workers; ++i) {
      if (i == 0 || run_.options.queues == Queues::kPerWorker) {
        Result<std::unique_ptr<Inbox>> inbox = Inbox::make();
        if (!inbox) return std::unexpected(inbox.error());
        inboxes_.push_back(std::move(*inbox));
      }
      Result<std::unique_ptr<InboxWorker>> worker = InboxWorker::start(run_, inbox_of(i));
      if (!worker) return std::unexpected(worker.error());
      workers_.push_back(std::move(*worker));
    }
    return {};
  }
  // To the next in turn.
  void hand_over(Fd socket) { inbox_of(next_++).push(std::move(socket)); }

 private:
  Inbox& inbox_of(size_t worker) { return *inboxes_[worker % inboxes_.size()]; }

  ModelRun& run_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<std::unique_ptr<InboxWorker>> workers_;
};

}  // namespace

Result<void> libio_accept_thread(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  const BlockedThreads::Place place(**sleepers, run.listener.get());
  Hall hall(run);
  if (Result<void> done = hall.open(); !done) return done;
  Tally tally;
  while (!(*sleepers)->stopping()) {
    Accepted next = accept_one(run.listener.get(), Blocking::kNo);  // the accepted socket does not block
    if (next.did == CallOutcome::kEnd) break;
    if (next.did == CallOutcome::kNoRoom) {
      wait_for_room();
      continue;
    }
    ++tally.accepted;
    run.statistics.add(tally);
    hall.hand_over(std::move(next.socket));
  }
  return {};
}

}  // namespace peal::models
