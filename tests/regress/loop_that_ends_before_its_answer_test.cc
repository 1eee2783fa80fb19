// SPDX-License-Identifier: BSD-3-Clause
// A server was stopped while one of its tasks waited for a job on a thread pool. Then its loops were stopped, and then
// the job ended. The task had been cancelled once, while its loop still ran and the job could not be withdrawn. The
// answer came when the loop was gone, and nothing looked at the task again. So the task was never resumed and its frame
// never destroyed. CoServer::stop() and stop_and_wait(), which wait for the last task, waited for ever. run_on() had
// the same defect. Now the end of the loop waits for whatever uses the task's frame, and resumes the task.
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
  ~AtDeath() { notes.emplace_back("the frame is gone"); }

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

  // Runs on another thread for a task. `count` is in the task's frame, so the frame must exist until this function
  // returns.
  void hold_and(int& count) {
    begun.release();
    gate.acquire();
    ++count;
  }
  // Serves a client with `serve`, which waits for an answer of another thread. While that thread works, stops the
  // server and then the loop. The other thread answers when the loop is already ending.
  void end_before_the_answer(CoServer::Serve serve) {
    std::optional<CoServer> server;
    RawPeer client;
    test::ask(own->loop(), [&] {
      server.emplace(own->loop(), std::move(serve));
      client.connect(server->listen("127.0.0.1:0").value());
    });
    begun.acquire();
    server->stop([this] { notes.emplace_back("the server has stopped"); });
    std::jthread opens([this, mailbox = own->loop().mailbox()] {
      while (mailbox->open()) std::this_thread::yield();
      gate.release();
    });
    own->finish();
  }
  void answered(int count) { notes.push_back("answered " + std::to_string(count)); }
  void expect_all_is_told() {
    EXPECT_THAT(notes, ElementsAre("answered 1", "the frame is gone", "the server has stopped"));
  }

  std::optional<test::LoopThread> own;
  std::optional<test::LoopThread> other;
  std::binary_semaphore begun{0};
  std::binary_semaphore gate{0};
  std::vector<std::string> notes;  // what happened on the server's loop and at the server's end, in this order
};
PEAL_TEST_ON_EVERY_ENGINE(LoopThatEndsBeforeItsAnswer);

TEST_P(LoopThatEndsBeforeItsAnswer, resumes_a_task_that_waits_for_a_pool) {
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

TEST_P(LoopThatEndsBeforeItsAnswer, resumes_a_task_that_asks_an_object_on_another_loop) {
  const OnLoop<int> number(other->loop());
  end_before_the_answer([&](Stream) -> Task<> {
    const AtDeath last(notes);
    int count = 0;
    EXPECT_TRUE(co_await number.ask([&](int&) { hold_and(count); }));
    answered(count);
  });
  expect_all_is_told();
}

TEST_P(LoopThatEndsBeforeItsAnswer, resumes_a_task_that_waits_for_a_task_on_another_loop) {
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
