// SPDX-License-Identifier: BSD-3-Clause
// An exception of a handler may quote the client: "the name '...' is taken". If the quoted text had a newline, the log
// got one more line, which looked like any other. If it had an ESC, it controlled the terminal of the person who read
// the log. throw_bad_value() quotes values too, and so did log lines about connections and loops. Now text among the
// arguments of a log line is made printable in one place, for every line (printable.h).
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// The text that a client sent, decoded.
constexpr std::string_view kForged = "x\n2026-01-01T00:00:00.000000Z info forged\r\x1b[2J\xe2\x80\xae";
constexpr std::string_view kShown = "x\\x0A2026-01-01T00:00:00.000000Z info forged\\x0D\\x1B[2J\\xE2\\x80\\xAE";
constexpr std::string_view kAsked =
    "/?text=x%0A2026-01-01T00:00:00.000000Z%20info%20forged%0D%1B%5B2J%E2%80%AE%20Gr%C3%BC%C3%9Fe";

class LinesThatOthersWriteToTheLog : public test::HttpTest {
 protected:
  void TearDown() override {
    HttpTest::TearDown();
    set_log_sink({});
  }
  void collect() {
    set_log_sink([this](const LogRecord& record) { lines_.emplace_back(record.text); });
  }
  void ask_handler(HttpHandler handler) {
    Router router;
    router.get("/", std::move(handler));
    serve(std::move(router));
    collect();
    answer_to(fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", kAsked));
    end_server();
    set_log_sink({});
  }
  void expect_plain() {
    EXPECT_THAT(lines_, testing::SizeIs(testing::Ge(1U)));
    EXPECT_THAT(lines_, Each(AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b")), Not(HasSubstr("\xe2\x80\xae")))));
    EXPECT_THAT(lines_, testing::Contains(AllOf(HasSubstr(kShown), HasSubstr("Gr\xc3\xbc\xc3\x9f"
                                                                             "e"))));
  }

  std::vector<std::string> lines_;
};

std::string said_in(HttpExchange& exchange) { return std::string(exchange.query("text").value()); }

TEST_P(LinesThatOthersWriteToTheLog, text_that_a_handler_throws) {
  ask_handler([](HttpExchange& exchange) { throw std::runtime_error("no " + said_in(exchange)); });
  expect_plain();
}

TEST_P(LinesThatOthersWriteToTheLog, text_that_a_coroutine_throws) {
  ask_handler([](HttpExchange& exchange) -> Task<> {
    throw std::runtime_error("no " + said_in(exchange));
    co_return;
  });
  expect_plain();
}

TEST_P(LinesThatOthersWriteToTheLog, value_that_is_refused) {
  ask_handler([](HttpExchange& exchange) { exchange.set_field(said_in(exchange), "value"); });
  expect_plain();
}

TEST_P(LinesThatOthersWriteToTheLog, text_that_the_program_logs_itself) {
  ask_handler([](HttpExchange& exchange) {
    PEAL_LOG_INFO("asked for {:>5} by {}", exchange.query("text").value(), said_in(exchange).c_str());
    exchange.respond(200);
  });
  expect_plain();
}

TEST_P(LinesThatOthersWriteToTheLog, text_that_a_task_of_the_loop_throws) {
  collect();
  ask([&] {
    loop().post([] {
      throw std::runtime_error(std::string(kForged) +
                               " Gr\xc3\xbc\xc3\x9f"
                               "e");
    });
  });
  ASSERT_TRUE(wait_until([&] { return !lines_.empty(); }));
  set_log_sink({});
  expect_plain();
}

PEAL_TEST_ON_EVERY_PORT(LinesThatOthersWriteToTheLog);

}  // namespace
}  // namespace peal
