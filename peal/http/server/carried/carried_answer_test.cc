// SPDX-License-Identifier: BSD-3-Clause
// Tests several exchanges at the same time on a carrier that is not HTTP/1.1. They answer as usual, and an error of one
// does not affect the others.
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <peal/coro/sleep.h>
#include <peal/http/server/parts/memory_carrier_test.h>
#include <tests/support/file_of.h>

namespace peal {
namespace {

using detail::MemoryRequest;
using detail::MemoryStreams;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kShort = std::chrono::milliseconds(1);

class CarriedAnswerTest : public detail::MemoryStreamsTest {
 protected:
  void SetUp() override {
    MemoryStreamsTest::SetUp();
    set_log_sink([this](const LogRecord& record) { log_ += std::string(record.text) + "\n"; });
  }

  std::string log_;
};

TEST_F(CarriedAnswerTest, whole_answer_has_status_fields_type_and_length) {
  router_.get("/{name}", [](HttpExchange& exchange) {
    exchange.set_field("Etag", "\"1\"");
    exchange.set_field("Link", "</a>\r\nb: c");
    exchange.respond(200, "text/plain", exchange.parameter("name"));
  });
  router_.get("/buffer", [](HttpExchange& exchange) { exchange.respond(203, "", Buffer("moved")); });
  MemoryStreams& streams = serve();
  const MemoryRequest asked = streams.ask("GET /hello%21");
  EXPECT_EQ(asked->status, 200);
  EXPECT_EQ(asked->content_type, "text/plain");
  EXPECT_EQ(asked->fields, "Etag=\"1\"|Link=</a>  b: c|");
  EXPECT_EQ(asked->length, 6u);
  EXPECT_EQ(asked->body(), "hello!");
  EXPECT_TRUE(asked->ended && asked->released);
  const MemoryRequest moved = streams.ask("GET /buffer");
  EXPECT_EQ(moved->status, 203);
  EXPECT_EQ(moved->length, 5u);
  EXPECT_EQ(moved->body(), "moved");
  EXPECT_EQ(streams.count(), 0u);
  EXPECT_EQ(streams.stats().answers[2], 2u);
  EXPECT_EQ(streams.stats().response_body_bytes, 11u);
}

TEST_F(CarriedAnswerTest, what_no_route_takes_is_answered_as_anywhere) {
  router_.post("/form", [](HttpExchange& exchange) { exchange.respond(204); });
  MemoryStreams& streams = serve();
  EXPECT_EQ(streams.ask("GET /nowhere")->status, 404);
  EXPECT_EQ(streams.ask("GET /%zz")->status, 400);
  const MemoryRequest other = streams.ask("GET /form");
  EXPECT_EQ(other->status, 405);
  EXPECT_EQ(other->fields, "Allow=OPTIONS, POST|");
  const MemoryRequest options = streams.ask("OPTIONS /form");
  EXPECT_EQ(options->status, 204);
  EXPECT_EQ(options->fields, "Allow=OPTIONS, POST|");
  EXPECT_EQ(streams.ask("CONNECT a:1")->status, 501);
}

TEST_F(CarriedAnswerTest, head_204_205_and_304_have_no_content) {
  router_.get("/", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "not to HEAD"); });
  router_.get("/stream", [](HttpExchange& exchange) {
    exchange.begin(200);
    EXPECT_TRUE(exchange.write("not to HEAD"));
    exchange.end();
  });
  router_.get("/empty", [](HttpExchange& exchange) { exchange.respond(204); });
  router_.get("/reset", [](HttpExchange& exchange) { exchange.respond(205, "text/plain", "not with 205"); });
  router_.get("/same", [](HttpExchange& exchange) { exchange.respond(304); });
  router_.get("/sized", [](HttpExchange& exchange) {
    exchange.set_content_length(7);
    exchange.begin(304);
    exchange.end();
  });
  MemoryStreams& streams = serve();
  const auto said = [&](std::string_view request) {
    const MemoryRequest asked = streams.ask(request);
    EXPECT_TRUE(asked->ended && asked->released && !asked->content_follows) << request;
    EXPECT_THAT(asked->pieces, IsEmpty()) << request;
    return std::pair(asked->status, asked->length);
  };
  EXPECT_EQ(said("HEAD /"), std::pair(200, std::optional<uint64_t>(11)));
  EXPECT_EQ(said("HEAD /stream"), std::pair(200, std::optional<uint64_t>()));
  EXPECT_EQ(said("GET /empty"), std::pair(204, std::optional<uint64_t>()));
  EXPECT_EQ(said("GET /reset"), std::pair(205, std::optional<uint64_t>(0)));
  EXPECT_EQ(said("GET /same"), std::pair(304, std::optional<uint64_t>()));
  EXPECT_EQ(said("GET /sized"), std::pair(304, std::optional<uint64_t>(7)));
  EXPECT_EQ(streams.stats().response_body_bytes, 0u);
}

TEST_F(CarriedAnswerTest, two_streams_of_pieces_wait_for_their_own_readers) {
  router_.get("/callback", [this](HttpExchange& exchange) {
    exchange.begin(200, "text/plain");
    exchange.on_writable([this](HttpExchange& more) {
      journal_.emplace_back("writable");
      EXPECT_TRUE(more.write("last"));
      more.end();
    });
    EXPECT_TRUE(exchange.write(std::string(900, 'a')));
    EXPECT_FALSE(exchange.write(Buffer(std::string(200, 'b'))));
  });
  router_.get("/coroutine", [this](HttpExchange& exchange) -> Task<> {
    exchange.begin(200);
    for (int i = 0; i < 3; ++i) {
      exchange.write(std::string(1001, 'c'));
      EXPECT_TRUE(co_await exchange.writable());
    }
    journal_.emplace_back("returns");
  });
  MemoryStreams& streams = serve();
  MemoryRequest callback = streams.ask("GET /callback");
  MemoryRequest coroutine = streams.ask("GET /coroutine");
  run();
  EXPECT_EQ(streams.count(), 2u);
  EXPECT_FALSE(callback->ended || coroutine->ended);
  EXPECT_FALSE(callback->length);
  EXPECT_EQ(callback->pieces.size(), 2u);
  EXPECT_EQ(coroutine->pieces.size(), 1u);
  coroutine.read();
  run();
  EXPECT_EQ(coroutine->pieces.size(), 2u);
  EXPECT_THAT(journal_, IsEmpty());
  callback.read();
  EXPECT_TRUE(callback->ended && callback->released);
  EXPECT_EQ(callback->body().size(), 1104u);
  coroutine.read();
  run();
  coroutine.read();
  run();
  EXPECT_TRUE(coroutine->ended && coroutine->released);
  EXPECT_EQ(coroutine->body(), std::string(3003, 'c'));
  EXPECT_THAT(journal_, ElementsAre("writable", "returns"));
}

TEST_F(CarriedAnswerTest, length_that_was_declared_and_is_not_kept_resets_this_exchange_alone) {
  router_.get("/{text}", [](HttpExchange& exchange) {
    exchange.set_content_length(4);
    exchange.begin(200);
    EXPECT_EQ(exchange.write(exchange.parameter("text")), exchange.parameter("text").size() <= 4);
    exchange.end();
  });
  MemoryStreams& streams = serve();
  const MemoryRequest less = streams.ask("GET /abc");
  const MemoryRequest more = streams.ask("GET /abcde");
  EXPECT_TRUE(less->was_reset && more->was_reset);
  EXPECT_FALSE(less->ended || more->ended);
  const MemoryRequest exact = streams.ask("GET /abcd");
  run();
  EXPECT_TRUE(less->released && more->released);
  EXPECT_TRUE(exact->ended && !exact->was_reset);
  EXPECT_EQ(exact->length, 4u);
  EXPECT_EQ(exact->body(), "abcd");
  EXPECT_EQ(streams.stats().abandoned, 2u);
}

TEST_F(CarriedAnswerTest, interim_answers_go_before_and_take_the_fields_with_them) {
  router_.get("/", [](HttpExchange& exchange) {
    exchange.set_field("Link", "</style.css>");
    exchange.inform(103);
    exchange.inform(102);
    exchange.set_field("Etag", "\"2\"");
    exchange.respond(200, "", "body");
  });
  const MemoryRequest asked = serve().ask("GET /");
  EXPECT_THAT(asked->interim, ElementsAre("103 Link=</style.css>|", "102 "));
  EXPECT_EQ(asked->fields, "Etag=\"2\"|");
}

TEST_F(CarriedAnswerTest, file_goes_out_whole_and_in_the_midst_of_a_stream) {
  router_.get("/file", [](HttpExchange& exchange) {
    FileRange range = test::file_of("0123456789");
    range.offset = 2;
    range.bytes = 5;
    exchange.respond_file(206, "application/octet-stream", range);
  });
  router_.get("/midst", [](HttpExchange& exchange) {
    exchange.begin(200);
    exchange.write("<");
    exchange.write_file(test::file_of("file"));
    exchange.write(">");
    exchange.end();
  });
  MemoryStreams& streams = serve();
  const MemoryRequest file = streams.ask("GET /file");
  EXPECT_EQ(file->length, 5u);
  EXPECT_EQ(file->body(), "23456");
  const MemoryRequest head = streams.ask("HEAD /file");
  EXPECT_EQ(head->length, 5u);
  EXPECT_EQ(head->body(), "");
  EXPECT_THAT(streams.ask("GET /midst")->pieces, ElementsAre("<", "file", ">"));
}

TEST_F(CarriedAnswerTest, exception_is_500_before_the_answer_and_a_reset_of_this_exchange_alone_within) {
  router_.get("/wait", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(kShort);
    exchange.respond(200, "", "untouched");
  });
  router_.get("/before", [](HttpExchange& exchange) {
    exchange.set_field("Etag", "gone");
    throw std::runtime_error("before");
  });
  router_.get("/within", [](HttpExchange& exchange) {
    exchange.begin(200);
    exchange.write("some");
    throw std::runtime_error("within");
  });
  MemoryStreams& streams = serve();
  const MemoryRequest wait = streams.ask("GET /wait");
  const MemoryRequest before = streams.ask("GET /before");
  const MemoryRequest within = streams.ask("GET /within");
  EXPECT_EQ(before->status, 500);
  EXPECT_EQ(before->fields, "");
  EXPECT_TRUE(before->ended && !before->was_reset);
  EXPECT_TRUE(within->was_reset && !within->ended);
  run();
  EXPECT_TRUE(within->released);
  EXPECT_EQ(wait->body(), "untouched");
  EXPECT_EQ(streams.stats().exceptions, 2u);
  EXPECT_THAT(log_, testing::HasSubstr("the handler of GET /before threw: before"));
}

TEST_F(CarriedAnswerTest, coroutine_is_cancelled_when_its_stream_is_reset_and_its_neighbour_is_not) {
  router_.get("/{name}", [this](HttpExchange& exchange) -> Task<> {
    const std::string name(exchange.parameter("name"));
    exchange.on_abandoned([this, name](HttpExchange& lost) {
      EXPECT_TRUE(lost.abandoned());
      journal_.push_back(name + " is abandoned");
    });
    const Result<void> slept = co_await sleep(kShort);
    journal_.push_back(name + (slept ? " slept" : " was cancelled"));
    exchange.respond(200, "", name);
  });
  MemoryStreams& streams = serve();
  MemoryRequest one = streams.ask("GET /one");
  const MemoryRequest two = streams.ask("GET /two");
  one.reset();
  EXPECT_TRUE(one->released);
  EXPECT_THAT(journal_, ElementsAre("one is abandoned", "one was cancelled"));
  run();
  EXPECT_EQ(one->status, 0);
  EXPECT_EQ(two->body(), "two");
  EXPECT_THAT(journal_, ElementsAre("one is abandoned", "one was cancelled", "two slept"));
  EXPECT_EQ(streams.stats().abandoned, 1u);
}

TEST_F(CarriedAnswerTest, owner_that_ends_abandons_all_it_carried) {
  router_.get("/", [this](HttpExchange& exchange) {
    exchange.on_abandoned([this](HttpExchange& lost) {
      lost.respond(200, "", "to nobody");
      EXPECT_THROW(lost.connection(), std::logic_error);
      journal_.emplace_back("abandoned");
    });
  });
  MemoryStreams& streams = serve();
  const MemoryRequest one = streams.ask("GET /");
  const MemoryRequest two = streams.ask("GET /");
  streams.abandon_all(true);
  EXPECT_THAT(journal_, ElementsAre("abandoned", "abandoned"));
  EXPECT_TRUE(one->released && two->released);
  EXPECT_EQ(one->status, 0);
}

}  // namespace
}  // namespace peal
