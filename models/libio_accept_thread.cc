// SPDX-License-Identifier: BSD-3-Clause
// libio_accept_thread (libio's reactors with an accept thread): one thread only accepts, and the workers serve.
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
// One thread accepts, in blocking calls. It pushes each connection into a queue under a mutex, and writes to the
// eventfd that is in the worker's epoll. The worker wakes and takes all connections from the queue. It locks the mutex
// for each of them. Then the worker reads, computes and writes for a connection until the connection ends. So a
// connection moves to another thread once.
//
// With a queue for each worker, the connections are spread evenly, and no other worker competes for the lock. With one
// shared queue, all workers compete for its lock, and a worker may wake after another one has taken the connection.
//
// The hand-over costs each connection a lock, a write to the eventfd, usually a read of it, and a switch of threads.
// The model main_sub_threads adds the connection directly to the worker's epoll instead. The difference matters only
// for short connections.
//
// libio's author changed the three options above one after the other. He reported that his server finally served about
// twice as many pages. The defaults are his last choice.
#include <sys/eventfd.h>

#include <deque>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/polled_echo.h>
#include <models/models.h>

namespace peal::models {
namespace {

// A queue of accepted connections, for one worker or for all workers. The eventfd of the queue becomes readable when a
// connection is pushed, and when the queue is closed. A write to the eventfd may wake only one worker, because the
// workers watch the eventfd with Wake::kOne. Therefore a worker that finds the queue closed and empty writes to the
// eventfd, so that another worker wakes and ends too. All functions may be called on any thread.
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
  // Clears the eventfd of the queue. When the eventfd has woken a worker, the worker first calls begin_taking(). After
  // that, the worker calls take() until the queue is empty. The order matters, because a connection may be pushed after
  // the last take(). If the worker cleared the eventfd only at the end, no worker would wake for this connection.
  void begin_taking() {
    eventfd_t told = 0;
    (void)::eventfd_read(knock_.get(), &told);  // fails with EAGAIN if another worker has cleared it
  }
  // Removes the next connection from the queue and returns it. Returns an empty Fd if the queue is empty.
  Fd take() {
    MutexLock lock(mutex_);
    if (waiting_.empty()) return {};
    Fd socket = std::move(waiting_.front());
    waiting_.pop_front();
    return socket;
  }
  // Returns true if the queue is closed and empty. The worker that called ended() then has to end. Before ended()
  // returns true, it writes to the eventfd. The write wakes another worker of this queue, which then ends in the same
  // way.
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

// A worker thread. It takes connections from a queue, its inbox, and serves them. It sleeps in epoll_wait(2). The epoll
// contains the eventfd of the queue and the sockets of the connections.
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
    PEAL_ASSERT(ran.has_value(), "the reactor of a worker has failed: {}", ran.error().message());
    echo_.reset();  // closes the worker's connections
  }
  // Called when the eventfd of the inbox is readable. Takes all waiting connections and adds each of them to the
  // worker's epoll. With the option --on-hand-over read, the worker reads from a connection and answers before it adds
  // the connection.
  void on_ready(int) override {
    inbox_.begin_taking();
    while (Fd socket = inbox_.take()) echo_->serve(std::move(socket), on_hand_over_);
    if (inbox_.ended()) reactor_->stop();
  }

  Inbox& inbox_;
  const OnHandOver on_hand_over_;
  std::unique_ptr<PollerReactor> reactor_;
  std::unique_ptr<PolledEcho> echo_;
  Thread thread_;  // declared last, so the thread is joined before the other members are destroyed
};

// Owns the worker threads and the queues (inboxes) of accepted connections. The destructor closes the queues, then
// waits until the worker threads have ended.
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
  // Puts the connection into the queue of the next worker (round-robin). With the option --queues one, there is only
  // one queue, which all workers share.
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
    Accepted next = accept_one(run.listener.get(), Blocking::kNo);  // kNo: the accepted socket is non-blocking
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
