// SPDX-License-Identifier: BSD-3-Clause
// Tests bodies of requests on a carrier that is not HTTP/1.1: their receivers, their limits, and 100 (Continue).
#include <string>

#include <gmock/gmock.h>

#include <peal/http/server/parts/memory_carrier_test.h>

namespace peal {
namespace {

using detail::MemoryRequest;
using detail::MemoryStreams;
using testing::ElementsAre;
using testing::IsEmpty;

class CarriedBodyTest : public detail::MemoryStreamsTest {};

TEST_F(CarriedBodyTest, pieces_of_two_requests_come_as_each_is_sent_and_paused) {
  router_.post("/{name}", [this](HttpExchange& exchange) {
    const std::string name(exchange.parameter("name"));
    exchange.on_body(
        [this, name](HttpExchange& taker, std::string_view piece) {
          journal_.push_back(name + " " + std::string(piece));
          if (piece == "stop") taker.pause_body();
        },
        [name](HttpExchange& taker) { taker.respond(200, "", name); });
  });
  MemoryStreams& streams = serve();
  MemoryRequest one = streams.ask("POST /one", true);
  MemoryRequest two = streams.ask("POST /two", true);
  one.send("1");
  two.send("2");
  two.send("stop");
  two.send("held");
  two.end();
  one.send("3");
  one.end();
  EXPECT_EQ(one->body(), "one");
  EXPECT_THAT(journal_, ElementsAre("one 1", "two 2", "two stop", "one 3"));
  EXPECT_EQ(two->status, 0);
  two.run([](HttpExchange& paused) { paused.resume_body(); });
  EXPECT_EQ(two->body(), "two");
  EXPECT_EQ(journal_.back(), "two held");
  EXPECT_EQ(streams.stats().request_body_bytes, 11u);
}

TEST_F(CarriedBodyTest, whole_body_is_one_text_or_413_where_it_is_too_long) {
  router_.post("/",
               [this](HttpExchange& exchange) {
                 exchange.read_body([this](HttpExchange& taker, std::string&& body) {
                   journal_.push_back(body);
                   taker.respond(200, "", body);
                 });
               },
               {.body_limit_bytes = 5});
  MemoryStreams& streams = serve();
  MemoryRequest whole = streams.ask("POST /", true);
  MemoryRequest longer = streams.ask("POST /", true);
  whole.send("ab");
  longer.send("abc");
  longer.send("def");
  longer.send("ghi");
  whole.send("cde");
  whole.end();
  EXPECT_EQ(whole->body(), "abcde");
  EXPECT_EQ(longer->status, 413);
  EXPECT_TRUE(longer->ended && longer->released);
  EXPECT_EQ(streams.ask("POST /")->body(), "");
  EXPECT_THAT(journal_, ElementsAre("abcde", ""));
  EXPECT_EQ(streams.stats().too_large, 1u);
}

TEST_F(CarriedBodyTest, body_beyond_the_route_is_413_announced_or_not_and_a_reset_once_the_answer_began) {
  const auto echo = [](HttpExchange& exchange) {
    exchange.begin(200);
    exchange.on_body([](HttpExchange& taker, std::string_view piece) { taker.write(piece); },
                     [](HttpExchange& taker) { taker.end(); });
  };
  router_.post("/echo", echo, {.body_limit_bytes = 4});
  router_.post("/read",
               [this](HttpExchange& exchange) {
                 exchange.on_abandoned([this](HttpExchange&) { journal_.emplace_back("abandoned"); });
                 exchange.read_body([this](HttpExchange&, std::string&&) { journal_.emplace_back("read"); });
               },
               {.body_limit_bytes = 4});
  MemoryStreams& streams = serve();
  const MemoryRequest announced = streams.ask("POST /read\r\nContent-Length: 5", true);
  EXPECT_EQ(announced->status, 413);
  MemoryRequest read = streams.ask("POST /read", true);
  read.send("abcd");
  read.send("e");
  EXPECT_EQ(read->status, 413);
  EXPECT_THAT(journal_, ElementsAre("abandoned"));
  MemoryRequest begun = streams.ask("POST /echo", true);
  begun.send("abcd");
  begun.send("e");
  run();
  EXPECT_TRUE(begun->was_reset && begun->released);
  EXPECT_EQ(begun->body(), "abcd");
  EXPECT_EQ(streams.stats().too_large, 3u);
}

TEST_F(CarriedBodyTest, continue_is_said_when_somebody_wants_the_body_and_never_behind_an_answer) {
  router_.post("/read", [](HttpExchange& exchange) {
    exchange.read_body([](HttpExchange& taker, std::string&& body) { taker.respond(200, "", body); });
  });
  router_.post("/begun", [](HttpExchange& exchange) {
    exchange.begin(200);
    exchange.on_body([](HttpExchange&, std::string_view) {}, [](HttpExchange& taker) { taker.end(); });
  });
  router_.post("/not", [](HttpExchange& exchange) { exchange.respond(403); });
  MemoryStreams& streams = serve();
  MemoryRequest read = streams.ask("POST /read\r\nExpect: 100-continue", true);
  EXPECT_THAT(read->interim, ElementsAre("100 "));
  read.send("body");
  read.end();
  EXPECT_EQ(read->body(), "body");
  EXPECT_THAT(streams.ask("POST /begun\r\nExpect: 100-continue", true)->interim, ElementsAre("100 ")) << "before it";
  const MemoryRequest refused = streams.ask("POST /not\r\nExpect: 100-continue", true);
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->interim, IsEmpty());
}

TEST_F(CarriedBodyTest, coroutine_reads_pieces_and_the_whole_and_what_is_too_long_is_413) {
  router_.post("/pieces", [this](HttpExchange& exchange) -> Task<> {
    for (;;) {
      Result<Buffer> piece = co_await exchange.read();
      if (!piece) {
        journal_.push_back(piece.error().message());
        co_return;
      }
      if (piece->empty()) break;
      journal_.push_back(piece->to_string());
    }
    exchange.respond(200, "", "read");
  });
  router_.post("/all",
               [this](HttpExchange& exchange) -> Task<> {
                 const Result<std::string> all = co_await exchange.read_all();
                 journal_.push_back(all ? *all : all.error().message());
                 if (all) exchange.respond(200, "", *all);
               },
               {.body_limit_bytes = 5});
  MemoryStreams& streams = serve();
  MemoryRequest pieces = streams.ask("POST /pieces", true);
  MemoryRequest all = streams.ask("POST /all", true);
  MemoryRequest longer = streams.ask("POST /all", true);
  run();
  pieces.send("one");
  all.send("ab");
  longer.send("abc");
  run();
  pieces.send("two");
  longer.send("def");
  all.send("cd");
  run();
  pieces.end();
  all.end();
  run();
  EXPECT_EQ(pieces->body(), "read");
  EXPECT_EQ(all->body(), "abcd");
  EXPECT_EQ(longer->status, 413);
  EXPECT_TRUE(pieces->released && all->released && longer->released);
  EXPECT_THAT(journal_, ElementsAre("one", "two", "Operation canceled", "abcd"));
  journal_.clear();
  MemoryRequest gone = streams.ask("POST /pieces", true);
  run();
  gone.reset();
  run();
  EXPECT_TRUE(gone->released);
  EXPECT_THAT(journal_, ElementsAre("Operation canceled"));
}

TEST_F(CarriedBodyTest, answer_before_the_end_of_the_body_ends_this_exchange_alone) {
  router_.post("/early", [](HttpExchange& exchange) {
    exchange.on_body([](HttpExchange& taker, std::string_view) { taker.respond(200, "", "enough"); },
                     [](HttpExchange&) {});
  });
  MemoryStreams& streams = serve();
  MemoryRequest early = streams.ask("POST /early", true);
  MemoryRequest other = streams.ask("POST /early", true);
  early.send("some");
  early.send("more");
  EXPECT_EQ(early->body(), "enough");
  EXPECT_TRUE(early->released);
  EXPECT_EQ(other->status, 0);
  other.send("some");
  EXPECT_EQ(other->body(), "enough");
}

}  // namespace
}  // namespace peal
