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

// An I/O thread's epoll. Who arms a connection holds the mutex meanwhile, as the kernel holds one of its own: the event
// may come before epoll_ctl(2) has returned, and the I/O thread then waits until it has.
struct ArmedEpoll {
  Fd fd;
  Mutex arming;
};

// Touched by whoever has it; only its I/O thread closes it.
struct HalfSyncConnection : SlowNode {
  enum class With : uint8_t { kIoThread, kWorker, kGivenBack };

  HalfSyncConnection(Fd accepted, const ModelOptions& options, ArmedEpoll& epoll_of_its_thread)
      : socket(std::move(accepted)), buffer(options.max_body_bytes), epoll(epoll_of_its_thread) {}

  bool in_the_middle() const { return buffer.in_frame() || buffer.has_answer(); }

  const Fd socket;
  EchoBytes buffer;
  ArmedEpoll& epoll;
  size_t frames = 0;  // taken, to be worked on
  Wants wants = Wants::kRead;
  bool ending = false;                           // it sent what cannot be answered
  std::atomic<With> with = With::kIoThread;      // for the one who looks for the slow ones
  std::list<HalfSyncConnection>::iterator self;  // its I/O thread's
};

namespace {

using With = HalfSyncConnection::With;

// Its next event is asked for, or its first. From here on its I/O thread may have it.
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
  // When no worker is left.
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
  std::optional<TimePoint> now_;  // of this batch, once somebody asked
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
  epoll_.arming.lock();  // whoever armed it may not have left it yet
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

// Whether there is something to work on; if not, it wants to be read, or to be closed.
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

// A worker may have it, or be about to arm it: so it is not closed here but shut down, which its epoll reports as soon
// as it is armed.
void IoThread::end_late() {
  while (SlowNode* late = slow_.take_late(now())) {
    auto& connection = static_cast<HalfSyncConnection&>(*late);
    switch (connection.with.load(std::memory_order_acquire)) {
      case With::kWorker: slow_.came_on(connection, now()); break;  // who is slow is not the client
      case With::kGivenBack:                                        // the client's time began somewhen since
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

// A worker. What it wants closed it shuts down: its I/O thread hears of it, and closes.
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
                       // Workers end after the last who might wait for room in the queue.
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
