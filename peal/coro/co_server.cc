// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/co_server.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>
#include <peal/loop/on_loop.h>

namespace peal {

// Owns the tasks of all loops of a server. Each task holds a shared_ptr to this object, so the object lives until the
// last task has ended.
class CoServer::ServerTasks : public std::enable_shared_from_this<ServerTasks> {
 public:
  explicit ServerTasks(Serve serve) : serve_(std::move(serve)) {}

  void add(Loop& loop) { posts_.push_back(std::make_unique<Post>(loop)); }
  // Starts the task of a new connection. Called on the connection's loop.
  void start(Connection& connection, detail::StreamState& state) {
    Stream stream(state);
    for (auto& post : posts_) {
      if (&post->scope.loop() != &connection.loop()) continue;
      tasks_.fetch_add(1, std::memory_order_relaxed);
      if (!post->scope.spawn(run(shared_from_this(), *post, connection.handle(), std::move(stream)))) ended();
      return;
    }
    PEAL_ASSERT(false, "a connection on none of the server's {} loops", posts_.size());
  }
  // Cancels all tasks. Called once. Each task ends before this function returns, unless it waits again after it was
  // cancelled, for example in a shield(). `on_done` is called when the last task has ended.
  void end(Callback<void()> on_done) {
    on_done_ = std::move(on_done);
    for (auto& post : posts_) {
      detail::on_loop_or_after(*post->mailbox, [&scope = post->scope] {
        scope.cancel();
        detail::ReadyQueue::run_all();
      });
    }
    ended();
  }
  // True if the calling thread must not wait for the tasks, because the tasks could not end during that wait. There are
  // two such cases:
  // - The calling thread is inside run() or step() of a loop of the tasks.
  // - A loop of the tasks is driven with step(), and the calling thread is inside step() of another loop. The loop of
  //   the tasks cannot take a step meanwhile.
  bool would_wait_forever() const {
    return std::ranges::any_of(
        posts_, [](const auto& post) { return post->mailbox->here() || post->mailbox->beside_a_step(); });
  }
  // Returns the number of tasks that have not ended. Subtracts 1 from `tasks_`, which counts the server as one task
  // until end() is called. May be called only before end().
  size_t tasks() const { return tasks_.load(std::memory_order_relaxed) - 1; }
  uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

 private:
  // The tasks that run on one loop of the server.
  struct Post {
    explicit Post(Loop& loop) : mailbox(loop.mailbox()), scope(loop) {}
    const std::shared_ptr<Mailbox> mailbox;
    Scope scope;
    LogLimiter log_limiter{std::chrono::seconds(1)};
  };

  static Task<> run(std::shared_ptr<ServerTasks> server_tasks, Post& post, ConnectionHandle connection, Stream stream) {
    std::exception_ptr thrown;
    try {
      Task<> task = server_tasks->serve_(std::move(stream));
      try {
        co_await std::move(task);
      } catch (...) {
        thrown = std::current_exception();
      }
      // Throws the exception again inside connection.run(), while the task still holds its stream. So the connection
      // treats the exception like one of a callback: it logs and counts the exception, and closes itself.
      if (thrown) connection.run([&thrown](Connection&) { std::rethrow_exception(std::exchange(thrown, nullptr)); });
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) server_tasks->count_and_log(post, thrown);
    server_tasks->ended();
  }
  // Subtracts 1 from `tasks_`, and calls `on_done_` if `tasks_` is then 0. Called when a task has ended. end() also
  // calls this function, in order to subtract the server itself, which `tasks_` counts as one task.
  void ended() {
    if (tasks_.fetch_sub(1, std::memory_order_acq_rel) == 1 && on_done_) on_done_();
  }
  // Counts and logs an exception that a task threw after its connection had ended.
  void count_and_log(Post& post, const std::exception_ptr& thrown) {
    exceptions_.fetch_add(1, std::memory_order_relaxed);
    Loop* loop = post.mailbox->here();  // null if the loop has ended: it may have been destroyed
    const auto suppressed = post.log_limiter.admit(loop != nullptr ? loop->now() : monotonic_now());
    if (!suppressed) return;
    try {
      std::rethrow_exception(thrown);
    } catch (...) {
      PEAL_LOG_ERROR("a task threw after its connection had ended: {} ({} more like it)", what_was_thrown(),
                     *suppressed);
    }
  }

  Serve serve_;
  std::vector<std::unique_ptr<Post>> posts_;
  std::atomic<size_t> tasks_ = 1;  // tasks that have not ended, plus 1 for the server itself until end()
  Callback<void()> on_done_;       // set by end(), called by the last task's end
  std::atomic<uint64_t> exceptions_ = 0;
};

CoServer::CoServer(Loop& loop, Serve serve, const ServerOptions& options)
    : server_tasks_(std::make_shared<ServerTasks>(std::move(serve))) {
  server_tasks_->add(loop);
  server_.emplace(loop, callbacks(server_tasks_), options);
}

CoServer::CoServer(LoopGroup& group, SharedServe serve, const ServerOptions& options)
    : server_tasks_(std::make_shared<ServerTasks>(std::move(serve))) {
  for (size_t i = 0; i < group.size(); ++i) server_tasks_->add(group[i]);
  server_.emplace(group, callbacks(server_tasks_), options);
}

CoServer::~CoServer() {
  if (server_) stop({});
}

// After the call of ServerTasks::end(), stop() must not use a member of the CoServer, because `on_done` may have
// destroyed the CoServer.
void CoServer::stop(Callback<void()> on_done) {
  PEAL_ASSERT(server_.has_value(), "CoServer::stop() was called twice");
  const std::shared_ptr<ServerTasks> server_tasks = server_tasks_;
  server_.reset();
  server_tasks->end(std::move(on_done));
}

void CoServer::stop_and_wait() {
  PEAL_ASSERT(!server_tasks_->would_wait_forever(),
              "a server waits for its tasks on their loop, which cannot run meanwhile: call stop()");
  std::latch over(1);
  stop([&over] { over.count_down(); });
  over.wait();
}

SharedConnectionCallbacks CoServer::callbacks(const std::shared_ptr<ServerTasks>& server_tasks) {
  return detail::stream_callbacks(
      [server_tasks](Connection& connection, detail::StreamState& state) { server_tasks->start(connection, state); });
}

size_t CoServer::tasks() const { return server_tasks_->tasks(); }

NetStats CoServer::stats() const {
  NetStats stats = server_->stats();
  stats.exceptions += server_tasks_->exceptions();
  return stats;
}

}  // namespace peal
