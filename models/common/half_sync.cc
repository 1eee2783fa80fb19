// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/half_sync.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/common/reactor/epoll_listener.h>
#include <models/common/reactor/wait_time.h>
#include <models/common/work.h>
#include <models/common/workers/run_together.h>
#include <peal/base/assert.h>
#include <peal/base/mutex.h>

namespace peal::models {

// The epoll of one I/O thread, and the mutex `arming`. A worker locks the mutex while it calls epoll_ctl(2) to request
// the next event of a connection. The event may arrive before epoll_ctl(2) has returned. Therefore the I/O thread also
// locks the mutex before it uses the connection, so that the I/O thread waits until the worker's call has returned.
// Without the mutex, the two threads would have a data race in the connection, because C++ does not count an event of
// an epoll as synchronization.
struct ArmedEpoll {
  Fd fd;
  Mutex arming;
};

// A connection. At any time, only one thread serves it: its I/O thread or a worker. While a worker serves the
// connection, the I/O thread uses only the slow timeout (SlowNode) and the member `with`. Only the I/O thread closes
// the connection.
struct HalfSyncConnection : SlowNode {
  enum class With : uint8_t { kIoThread, kWorker, kGivenBack };

  HalfSyncConnection(Fd accepted, const ModelOptions& options, ArmedEpoll& epoll_of_its_thread)
      : socket(std::move(accepted)), buffer(options.max_body_bytes), epoll(epoll_of_its_thread) {}

  bool in_the_middle() const { return buffer.in_frame() || buffer.has_answer(); }

  const Fd socket;
  EchoBytes buffer;
  ArmedEpoll& epoll;
  size_t frames = 0;  // number of complete frames whose work is not done yet
  Wants wants = Wants::kRead;
  bool ending = false;                           // the client has sent a frame that is too large
  std::atomic<With> with = With::kIoThread;      // the thread that has the connection; read by end_late()
  std::list<HalfSyncConnection>::iterator self;  // refers to this element in its I/O thread's list
};

namespace {

using With = HalfSyncConnection::With;

// Requests the connection's next event from the epoll. The event may come immediately, and the I/O thread then uses the
// connection. Therefore a worker must not use the connection after it has called arm().
Result<void> arm(HalfSyncConnection& connection, int operation) {
  epoll_event event{};
  event.events = (connection.wants == Wants::kWrite ? EPOLLOUT : EPOLLIN) | EPOLLONESHOT;
  event.data.ptr = &connection;
  MutexLock lock(connection.epoll.arming);
  if (::epoll_ctl(connection.epoll.fd.get(), operation, connection.socket.get(), &event) != 0) return fail(errno);
  return {};
}

void arm_again(HalfSyncConnection& connection) {
  const Result<void> armed = arm(connection, EPOLL_CTL_MOD);
  PEAL_ASSERT(armed.has_value(), "epoll_ctl(MOD): {}", armed.error().message());
}

Wants write_answer(HalfSyncConnection& connection) {
  if (write_some(connection.socket.get(), connection.buffer).did == CallOutcome::kEnd) return Wants::kClose;
  if (connection.buffer.has_answer()) return Wants::kWrite;
  return connection.ending ? Wants::kClose : Wants::kRead;
}

class IoThread {
 public:
  static Result<std::unique_ptr<IoThread>> make(ModelRun& run, HalfSyncQueue& queue);
  // Destroy an IoThread only after all workers have ended, because the workers use its connections.
  ~IoThread();

  Result<void> run();

 private:
  IoThread(ModelRun& run, HalfSyncQueue& queue, Fd epoll);
  void accept();
  bool accept_next();
  void serve(HalfSyncConnection& connection);
  bool read(HalfSyncConnection& connection);
  void to_worker(HalfSyncConnection& connection);
  void end_late();
  TimePoint now();

  ModelRun& run_;
  HalfSyncQueue& queue_;
  ArmedEpoll epoll_;
  EpollListener listener_;
  std::vector<epoll_event> events_;
  bool stopping_ = false;
  Tally tally_;
  std::optional<TimePoint> now_;  // the time of this batch of events, or empty if the clock was not read yet
  SlowList slow_;
  std::list<HalfSyncConnection> connections_;
};

IoThread::IoThread(ModelRun& run, HalfSyncQueue& queue, Fd epoll)
    : run_(run),
      queue_(queue),
      epoll_{.fd = std::move(epoll), .arming = {}},
      listener_(run.listener.get(), epoll_.fd.get(), &accept_without_blocking),
      events_(run.options.events_per_wait),
      slow_(run.options.slow_timeout) {}

IoThread::~IoThread() {
  tally_.ended += connections_.size();
  run_.statistics.add(tally_);
}

Result<std::unique_ptr<IoThread>> IoThread::make(ModelRun& run, HalfSyncQueue& queue) {
  Result<Fd> epoll = run.stop.make_epoll();
  if (!epoll) return std::unexpected(epoll.error());
  std::unique_ptr<IoThread> thread(new IoThread(run, queue, std::move(*epoll)));
  if (auto watched = thread->listener_.watch(thread.get()); !watched) return std::unexpected(watched.error());
  return thread;
}

Result<void> IoThread::run() {
  while (!stopping_) {
    const TimePoint deadline = std::min(slow_.next(), listener_.resume_at());
    const int count =
        ::epoll_wait(epoll_.fd.get(), events_.data(), static_cast<int>(events_.size()), wait_ms(deadline));
    if (count < 0 && errno != EINTR) return fail(errno);
    now_.reset();
    for (int i = 0; i < count; ++i) {
      void* const about = events_[static_cast<size_t>(i)].data.ptr;
      if (about == nullptr) {
        stopping_ = true;
      } else if (about == this) {
        accept();
      } else {
        serve(*static_cast<HalfSyncConnection*>(about));
      }
    }
    if (slow_.next() != kNever) end_late();
    if (listener_.resume_at() != kNever && listener_.resume_at() <= now()) listener_.resume();
    if (tally_.ended + tally_.accepted > 0) run_.statistics.add(tally_);
  }
  return {};
}

void IoThread::accept() {
  while (accept_next()) {
  }
}

bool IoThread::accept_next() {
  Accepted next = listener_.next();
  if (next.did != CallOutcome::kDone) return false;
  ++tally_.accepted;
  HalfSyncConnection& connection = connections_.emplace_front(std::move(next.socket), run_.options, epoll_);
  connection.self = connections_.begin();
  if (!arm(connection, EPOLL_CTL_ADD)) {
    ++tally_.refused;
    connections_.pop_front();
  }
  return true;
}

void IoThread::serve(HalfSyncConnection& connection) {
  epoll_.arming.lock();  // waits until the last arm() of this connection has returned
  epoll_.arming.unlock();
  connection.with.store(With::kIoThread, std::memory_order_relaxed);
  if (connection.wants == Wants::kRead) {
    if (read(connection)) return to_worker(connection);
  } else if (connection.wants == Wants::kWrite) {
    connection.wants = write_answer(connection);
  }
  if (connection.wants == Wants::kClose) {
    ++tally_.ended;
    connections_.erase(connection.self);
    return;
  }
  slow_.follow(connection, connection.in_the_middle(), [this] { return now(); });
  arm_again(connection);
}

// Reads once from the connection's socket. Returns true if at least one complete frame has arrived, which a worker has
// to answer. Otherwise returns false. connection.wants is then kRead (wait for more bytes) or kClose (close the
// connection).
bool IoThread::read(HalfSyncConnection& connection) {
  const Moved got = read_some(connection.socket.get(), connection.buffer);
  if (got.did == CallOutcome::kEnd) connection.wants = Wants::kClose;
  if (got.did != CallOutcome::kDone) return false;
  FrameState state = connection.buffer.take();
  for (; state == FrameState::kWhole; state = connection.buffer.take()) ++connection.frames;
  if (state == FrameState::kTooLong) {
    ++tally_.too_large;
    connection.ending = true;
    if (connection.frames == 0) connection.wants = Wants::kClose;
  }
  return connection.frames > 0;
}

void IoThread::to_worker(HalfSyncConnection& connection) {
  slow_.came_on(connection, now());
  connection.with.store(With::kWorker, std::memory_order_relaxed);
  queue_.push(&connection);
}

// Ends the connections of slow clients. Shuts each socket down instead of closing it, because a worker that has just
// served the connection may still have to call epoll_ctl(2) for the socket. After that call at the latest, the epoll
// reports the shutdown. The I/O thread then closes the connection.
void IoThread::end_late() {
  while (SlowNode* late = slow_.take_late(now())) {
    auto& connection = static_cast<HalfSyncConnection&>(*late);
    switch (connection.with.load(std::memory_order_acquire)) {
      case With::kWorker: slow_.came_on(connection, now()); break;  // the worker is slow, not the client
      case With::kGivenBack:  // a worker had the connection for a part of this time
        connection.with.store(With::kIoThread, std::memory_order_relaxed);
        if (connection.in_the_middle()) slow_.came_on(connection, now());
        break;
      case With::kIoThread:
        ++tally_.timed_out;
        ::shutdown(connection.socket.get(), SHUT_RDWR);
        break;
    }
  }
}

TimePoint IoThread::now() {
  if (!now_) now_ = monotonic_now();
  return *now_;
}

// The function of a worker thread: takes connections from the queue and does the work of their frames. With --reply-by
// worker, also sends the answer. Otherwise the I/O thread sends the answer. If a connection has to end, the worker
// shuts the socket down instead of closing the socket, because only the I/O thread of the connection may close the
// socket. The epoll reports the shutdown, and the I/O thread then closes the connection.
Result<void> work(ModelRun& run, HalfSyncQueue& queue) {
  Tally tally;
  while (HalfSyncConnection* const connection = queue.pop()) {
    for (; connection->frames > 0; --connection->frames) {
      do_work(run.options.work);
      ++tally.requests;
    }
    const bool writes = run.options.reply_by == ReplyBy::kWorker;
    connection->wants = writes ? write_answer(*connection) : Wants::kWrite;
    if (connection->wants == Wants::kClose) ::shutdown(connection->socket.get(), SHUT_RDWR);
    connection->with.store(With::kGivenBack, std::memory_order_release);
    arm_again(*connection);
  }
  run.statistics.add(tally);
  return {};
}

}  // namespace

Result<void> run_half_sync(ModelRun& run, HalfSyncQueue& queue) {
  std::vector<std::unique_ptr<IoThread>> io_threads;
  std::vector<ThreadRole> roles;
  std::atomic<size_t> reading = run.options.io_threads;
  for (size_t i = 0; i < run.options.io_threads; ++i) {
    auto thread = IoThread::make(run, queue);
    if (!thread) return std::unexpected(thread.error());
    roles.push_back({fmt::format("io {}", i), [&, own = thread->get()] {
                       const Result<void> done = own->run();
                       // The I/O thread that ends last pushes one null pointer for each worker, which ends the workers.
                       // If the workers ended earlier, another I/O thread might wait forever in push() for room in the
                       // queue.
                       const bool last = reading.fetch_sub(1) == 1;
                       for (size_t n = last ? run.options.workers : 0; n > 0; --n) queue.push(nullptr);
                       return done;
                     }});
    io_threads.push_back(std::move(*thread));
  }
  for (size_t i = 0; i < run.options.workers; ++i) {
    roles.push_back({fmt::format("worker {}", i), [&] { return work(run, queue); }});
  }
  return run_together(roles);
}

}  // namespace peal::models
