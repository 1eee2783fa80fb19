// SPDX-License-Identifier: BSD-3-Clause
// libio_accept_thread (libio's reactors with an accept thread): one thread only accepts.
//
//   accept thread:  accept ─> round-robin ─┬─> queue under a mutex ─ eventfd ─> worker 0: a reactor over epoll
//                                          ├─> queue under a mutex ─ eventfd ─> worker 1: takes all that wait,
//                                          └─> ...                              registers each; then, when it is
//                                                                               readable: read ─> frames ─> work ─>
//                                                                               write
//   --queues one:         accept ─────> one queue ──── one eventfd ───────────> whichever worker wakes takes all
//   --on-hand-over read:  a connection that is taken is read at once, and the next one is taken after that
//   --connections new:    its object is allocated and freed, not one of those that have ended
//
// Who accepts: one thread, in blocking calls. Who reads, computes and writes: the worker that took the connection, for
// as long as it lasts. What changes hands is the connection, once: pushed into a locked queue, with one write to the
// eventfd that the worker's epoll has. A worker that wakes empties the queue, under the lock for each. With a queue
// each, connections are spread evenly and nobody else contends for a worker's lock; with one shared queue all contend
// for it, and a worker that wakes for a connection may find that another has taken it. The hand-over costs every
// connection a lock, an eventfd's write, mostly its read, and a switch of threads: main_sub_threads adds the connection
// straight into the worker's epoll instead. Short connections feel it, long ones do not.
//
// The three options are what libio's author changed, one after the other, to double his pages; the defaults are what he
// ended with.
#include <sys/eventfd.h>

#include <deque>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/polled_echo.h>
#include <models/models.h>

namespace peal::models {
namespace {

// Connections on their way. The eventfd is readable when there may be some, and for ever once there will be no more.
// Any thread.
class Inbox {
 public:
  static Result<std::unique_ptr<Inbox>> make() {
    auto inbox = std::make_unique<Inbox>();
    inbox->knock_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!inbox->knock_) return fail(errno);
    return inbox;
  }
  int fd() const { return knock_.get(); }

  void push(Fd socket) {
    {
      MutexLock lock(mutex_);
      waiting_.push_back(std::move(socket));
    }
    ::eventfd_write(knock_.get(), 1);
  }
  void close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    ::eventfd_write(knock_.get(), 1);
  }
  // Whoever woke for it: takes what has been told of until now, then take() until it has nothing.
  void begin_taking() {
    eventfd_t told = 0;
    (void)::eventfd_read(knock_.get(), &told);  // EAGAIN: another worker was woken too, and was first
  }
  // Nothing: an empty Fd.
  Fd take() {
    MutexLock lock(mutex_);
    if (waiting_.empty()) return {};
    Fd socket = std::move(waiting_.front());
    waiting_.pop_front();
    return socket;
  }
  // There will be no more. The next worker is told, too.
  bool ended() {
    MutexLock lock(mutex_);
    if (!closed_ || !waiting_.empty()) return false;
    ::eventfd_write(knock_.get(), 1);
    return true;
  }

 private:
  Mutex mutex_;
  std::deque<Fd> waiting_ PEAL_GUARDED_BY(mutex_);
  bool closed_ PEAL_GUARDED_BY(mutex_) = false;
  Fd knock_;
};

// A thread with a reactor, which an inbox feeds.
class InboxWorker final : private PollerReactor::Handler {
 public:
  static Result<std::unique_ptr<InboxWorker>> start(ModelRun& run, Inbox& inbox) {
    std::unique_ptr<InboxWorker> worker(new InboxWorker(inbox, run.options.on_hand_over));
    Result<std::unique_ptr<PollerReactor>> reactor =
        PollerReactor::make(PollerKind::kEpoll, run.options.events_per_wait);
    if (!reactor) return std::unexpected(reactor.error());
    worker->reactor_ = std::move(*reactor);
    worker->echo_ =
        std::make_unique<PolledEcho>(run.options, run.statistics, *worker->reactor_, run.options.connections);
    Result<void> added = worker->reactor_->add(inbox.fd(), PollFor::kRead, *worker, Wake::kOne);
    if (!added) return std::unexpected(added.error());
    Result<Thread> thread = Thread::start("worker", [self = worker.get()](const std::stop_token&) { self->work(); });
    if (!thread) return std::unexpected(thread.error());
    worker->thread_ = std::move(*thread);
    return worker;
  }

 private:
  InboxWorker(Inbox& inbox, OnHandOver on_hand_over) : inbox_(inbox), on_hand_over_(on_hand_over) {}

  void work() {
    const Result<void> ran = echo_->run();
    PEAL_ASSERT(ran.has_value(), "a worker cannot wait: {}", ran.error().message());
    echo_.reset();  // closes its connections
  }
  // All that wait: they are registered before the first of them is served, as far as nobody is read on hand-over.
  void on_ready(int) override {
    inbox_.begin_taking();
    while (Fd socket = inbox_.take()) echo_->serve(std::move(socket), on_hand_over_);
    if (inbox_.ended()) reactor_->stop();
  }

  Inbox& inbox_;
  const OnHandOver on_hand_over_;
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
    for (const std::unique_ptr<Inbox>& inbox : inboxes_) inbox->close();
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
