// SPDX-License-Identifier: BSD-3-Clause
// A handler kept its HttpExchange& and answered through it later, after the server had answered in its place or the
// client had gone. By then the exchange belonged to the request of another client, and this client got the answer:
// somebody else's data. Nothing reported the mistake.
//
// Now the reference is valid inside the call that it was passed to, and in the coroutine that answers. If it is used
// elsewhere, the process stops, in every build. One kind of use cannot be recognized: a use inside a call of the
// request that has the exchange now. So test builds do not use an exchange again for a while (PEAL_CATCH_KEPT). Code
// that answers later uses a handle, which may be kept.
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/compression.h>
#include <peal/http/server/http_server.h>
#include <tests/support/loop_thread.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSentence = "an HttpExchange& was kept beyond the call it was given to";

class ExchangeThatIsKept : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  // Runs a server and a client on one loop. The client fetches the paths one after the other, whatever the answers are.
  // Returns the body or the error of each.
  std::vector<std::string> answers_to(Router router, const std::vector<std::string>& paths) const {
    auto loop = test::make_loop(options()).value();
    HttpServer server(*loop, std::move(router));
    const std::string origin = "http://" + server.listen("127.0.0.1:0").value().to_string();
    HttpClient client(*loop);
    std::vector<std::string> answers;
    std::function<void()> ask = [&] {
      if (answers.size() == paths.size()) return loop->stop();
      EXPECT_TRUE(client.fetch(HttpClientRequest(origin + paths[answers.size()]), [&](Result<HttpResponse> answer) {
        answers.push_back(answer ? answer->body : answer.error().message());
        loop->after(milliseconds(20), [&] { ask(); });
      }));
    };
    ask();
    EXPECT_TRUE(loop->run());
    return answers;
  }
  // Expects that the process stops if a handler calls answers_first(), and later calls uses() with the same exchange.
  void expect_death(const std::function<void(HttpExchange&)>& answers_first,
                    const std::function<void(HttpExchange&)>& uses) const {
    Router router;
    router.get("/", [=](HttpExchange& exchange) {
      answers_first(exchange);
      exchange.loop().after(milliseconds(1), [=, &exchange] { uses(exchange); });
    });
    EXPECT_DEATH(answers_to(std::move(router), {"/"}), std::string(kSentence));
  }
};

TEST_P(ExchangeThatIsKept, stops_the_process_when_it_is_used_after_its_answer) {
  expect_death([](HttpExchange& exchange) { exchange.respond(204); },
               [](HttpExchange& exchange) { exchange.respond(200, "", "for somebody else"); });
}

TEST_P(ExchangeThatIsKept, stops_the_process_when_it_is_used_before_its_answer) {
  expect_death([](HttpExchange&) {}, [](HttpExchange& exchange) { exchange.respond(200, "", "late"); });
}

TEST_P(ExchangeThatIsKept, stops_the_process_whatever_is_done_with_it) {
  const std::vector<std::function<void(HttpExchange&)>> uses = {
      [](HttpExchange& exchange) { std::ignore = exchange.request().target(); },
      [](HttpExchange& exchange) { std::ignore = exchange.handle(); },
      [](HttpExchange& exchange) { exchange.set_field("X", "y"); },
      [](HttpExchange& exchange) { exchange.write("more"); },
      [](HttpExchange& exchange) { exchange.end(); },
      [](HttpExchange& exchange) { exchange.read_body([](HttpExchange&, std::string&&) {}); },
      [](HttpExchange& exchange) { exchange.resume_body(); },
      [](HttpExchange& exchange) { exchange.abort(); },
      [](HttpExchange& exchange) { CompressedAnswer(exchange).respond(200, "text/plain", "packed"); },
  };
  // Each use needs a process of its own, so only one engine tries them all.
  for (const auto& use : uses) {
    expect_death([](HttpExchange& exchange) { exchange.begin(200); }, use);
    if (GetParam() != "epoll") break;
  }
}

TEST_P(ExchangeThatIsKept, stops_the_process_when_its_coroutine_has_ended) {
  Router router;
  router.get("/", [](HttpExchange& exchange) -> Task<> {
    exchange.loop().after(milliseconds(1), [&exchange] { exchange.set_field("X", "y"); });
    exchange.respond(200, "", "done");
    co_return;
  });
  EXPECT_DEATH(answers_to(std::move(router), {"/"}), std::string(kSentence));
}

TEST_P(ExchangeThatIsKept, belongs_to_its_coroutine_until_that_ends) {
  std::vector<std::string> seen;
  Router router;
  router.get("/{name}", [&](HttpExchange& exchange) -> Task<> {
    exchange.respond(200, "", exchange.parameter("name"));
    co_await sleep(milliseconds(50));  // the next request is answered meanwhile
    seen.emplace_back(exchange.request().target());
    EXPECT_TRUE(exchange.complete());
  });
  EXPECT_THAT(answers_to(std::move(router), {"/a", "/b", "/c", "/d", "/e"}),
              testing::ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(seen, testing::IsSupersetOf({"/a", "/b"}));
}

// These tests are for the builds with PEAL_CATCH_KEPT only.
class ExchangeThatIsKeptForTheNext : public ExchangeThatIsKept {
 protected:
  void SetUp() override {
    ExchangeThatIsKept::SetUp();
    if (IsSkipped()) return;
    const HttpExchange* first = nullptr;
    bool same = false;
    Router router([&](HttpExchange& exchange) {
      same = first == &exchange;
      first = &exchange;
      exchange.respond(204);
    });
    answers_to(std::move(router), {"/", "/"});
    if (same) GTEST_SKIP() << "built without PEAL_CATCH_KEPT";
  }
};

TEST_P(ExchangeThatIsKeptForTheNext, stops_the_process_when_the_next_request_uses_it) {
  HttpExchange* kept = nullptr;
  Router router;
  router.get("/keeps", [&](HttpExchange& exchange) {
    kept = &exchange;
    exchange.respond(204);
  });
  router.get("/uses", [&](HttpExchange& exchange) {
    kept->respond(200, "", "for the first client");
    exchange.respond(204);
  });
  EXPECT_DEATH(answers_to(std::move(router), {"/keeps", "/uses"}), std::string(kSentence));
}

TEST_P(ExchangeThatIsKeptForTheNext, leaves_no_byte_of_its_request_to_be_read) {
  std::string_view kept;
  std::string then;
  Router router;
  router.get("/keeps", [&](HttpExchange& exchange) {
    kept = exchange.request().target();
    exchange.respond(204);
  });
  router.get("/later", [&](HttpExchange& exchange) {
    then = kept;
    exchange.respond(204);
  });
  answers_to(std::move(router), {"/keeps", "/later"});
  EXPECT_EQ(then, "~~~~~~");
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(ExchangeThatIsKept);
PEAL_TEST_ON_EVERY_PORT_AND_SIM(ExchangeThatIsKeptForTheNext);

class ExchangeHandles : public test::SimTest {};

// Clients come and go. Answers come in time, too late, or when the connection already serves another request.
TEST_F(ExchangeHandles, that_are_late_do_not_answer_another_request) {
  uint64_t answered = 0;
  uint64_t late = 0;
  on_seeds(100, SimOptions::hostile(), [&](test::SimPair& pair) {
    Router router;
    struct Kept {
      HttpExchangeHandle handle;
      std::string name;
      bool answered = false;
    };
    std::vector<Kept> kept;
    router.get("/{name}", [&](HttpExchange& exchange) {
      const Duration wait = milliseconds(1 + kept.size() * 37 % 150);
      kept.push_back({exchange.handle(), std::string(exchange.parameter("name"))});
      // Answers this request, and answers again each request that was answered before.
      exchange.loop().after(wait, [&, own = kept.size() - 1] {
        kept[own].answered = true;
        for (const Kept& each : kept) {
          if (each.answered) each.handle.respond(200, "", each.name);
        }
      });
    });
    HttpServer server(*pair.here, std::move(router), {.answer_timeout = milliseconds(100)});
    const std::string origin = "http://" + pair.listen(server).to_string();
    HttpClient client(*pair.there);
    size_t ended = 0;
    for (int i = 0; i < 40; ++i) {
      pair.there->after(milliseconds(5 * i), [&, name = std::to_string(i)] {
        HttpClientRequest request(origin + "/" + name);
        request.deadlines = HttpDeadlines{.total = milliseconds(name.ends_with('7') ? 20 : 5000)};
        EXPECT_TRUE(client.fetch(request, [&, name](const Result<HttpResponse>& answer) {
          ++ended;
          if (!answer) return;
          const bool in_time = answer->head.status() == 200;
          ++(in_time ? answered : late);
          EXPECT_TRUE(!in_time || answer->body == name) << name << " got the answer to " << answer->body;
        }));
      });
    }
    ASSERT_TRUE(pair.run_until([&] { return ended == 40; }));
  });
  if (!all_seeds()) return;
  EXPECT_GT(answered, 1000U);
  EXPECT_GT(late, 100U);
}

}  // namespace
}  // namespace peal
