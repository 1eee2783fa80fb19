// SPDX-License-Identifier: BSD-3-Clause
// A server is stopped while a task of it waits for a job that a thread of a pool runs; then its loops are stopped; then
// the job ends. The task was cancelled once, when its loop was still there and the job could not be withdrawn; the
// answer came when the loop was gone, and nobody looked again. So the task was never resumed and its frame never
// destroyed, and who waited for the last task (CoServer::stop(), stop_and_wait()) did so for ever. The same held for
// run_on(). Now the end of the loop waits for what uses the task's frame, and resumes it.
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/co_server.h>
#include <peal/coro/run_on.h>
#include <peal/share/loop_object.h>
#include <peal/sync/async_pool.h>
#include <tests/support/loop_thread.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

struct AtDeath {
  explicit AtDeath(std::vector<std::string>& its_notes) : notes(its_notes) {}
  AtDeath(const AtDeath&) = delete;
  AtDeath& operator=(const AtDeath&) = delete;
  ~AtDeath() { notes.emplace_back("its frame is gone"); }

  std::vector<std::string>& notes;
};

class LoopThatEndsBeforeItsAnswer : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    own.emplace(options());
    other.emplace(options());
  }

  // What another thread does for a task, and that uses the task's frame.
  void hold_and(int& count) {
    begun.release();
    gate.acquire();
    ++count;
  }
  // Serves a client with `serve`, which gets an answer of another thread; stops the server when that is being worked
  // on, then the loop, and then lets it be answered.
  void end_before_the_answer(CoServer::Serve serve) {
    std::optional<CoServer> server;
    RawPeer client;
    test::ask(own->loop(), [&] {
      server.emplace(own->loop(), std::move(serve));
      client.connect(server->listen("127.0.0.1:0").value());
    });
    begun.acquire();
    server->stop([this] { notes.emplace_back("its server hears so"); });
    std::jthread opens([this, mailbox = own->loop().mailbox()] {
      while (mailbox->open()) std::this_thread::yield();
      gate.release();
    });
    own->finish();
  }
  void answered(int count) { notes.push_back("answered " + std::to_string(count)); }
  void expect_all_is_told() {
    EXPECT_THAT(notes, ElementsAre("answered 1", "its frame is gone", "its server hears so"));
  }

  std::optional<test::LoopThread> own;
  std::optional<test::LoopThread> other;
  std::binary_semaphore begun{0};
  std::binary_semaphore gate{0};
  std::vector<std::string> notes;  // of the server's loop, and of its end
};
PEAL_TEST_ON_EVERY_ENGINE(LoopThatEndsBeforeItsAnswer);

TEST_P(LoopThatEndsBeforeItsAnswer, of_a_job_on_a_pool) {
  const auto pool = AsyncPool::start({.threads = 1}).value();
  end_before_the_answer([&](Stream) -> Task<> {
    const AtDeath last(notes);
    int count = 0;
    auto job = [&] { hold_and(count); };
    EXPECT_TRUE(co_await pool->run(job));
    answered(count);
  });
  expect_all_is_told();
}

TEST_P(LoopThatEndsBeforeItsAnswer, of_an_object_on_another_loop) {
  const OnLoop<int> number(other->loop());
  end_before_the_answer([&](Stream) -> Task<> {
    const AtDeath last(notes);
    int count = 0;
    EXPECT_TRUE(co_await number.ask([&](int&) { hold_and(count); }));
    answered(count);
  });
  expect_all_is_told();
}

TEST_P(LoopThatEndsBeforeItsAnswer, of_a_task_on_another_loop) {
  end_before_the_answer([&](Stream) -> Task<> {
    const AtDeath last(notes);
    int count = 0;
    auto works = [&]() -> Task<> {
      hold_and(count);
      co_return;
    };
    static_cast<void>(co_await run_on(other->loop(), works()));
    answered(count);
  });
  expect_all_is_told();
}

}  // namespace
}  // namespace peal
