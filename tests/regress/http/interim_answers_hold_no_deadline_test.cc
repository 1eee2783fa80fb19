// SPDX-License-Identifier: BSD-3-Clause
// A server sent 102 every 0.4 s, and so it held a request with a first_byte deadline of 1 s for 8 s. Each interim
// answer renewed the deadline, and the 64 KiB of interim answers that a client accepts could last two days. Now
// HttpDeadlines::first_byte is the time until the first byte of the final answer (RFC 9110 15.2). It does not matter
// what comes before, how it is cut into pieces, or what the request was.
#include <optional>
#include <string>

#include <peal/http/client/http_client.h>
#include <tests/support/http_script.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpScript;
using Request = HttpScript::Request;

constexpr std::string_view kProcessing = "HTTP/1.1 102 Processing\r\n\r\n";
constexpr Duration kFirstByte = seconds(1);
constexpr Duration kSlack = milliseconds(50);  // allows for the network and the ticks of timers

class InterimAnswersHoldNoDeadline : public test::SimTest {
 protected:
  struct Outcome {
    Result<HttpResponse> answer;
    Duration took;
  };

  // Sends a piece of `text` every 0.4 s for 20 s. After the end of the text it begins again.
  static void drip(Connection& connection, std::string_view text, size_t piece, size_t at = 0) {
    if (at / piece > 50) return;
    connection.send(std::string(text).append(text).append(text).substr(at % text.size(), piece));
    connection.loop().after(milliseconds(400), [handle = connection.handle(), text, piece, at] {
      handle.run([=](Connection& here) { drip(here, text, piece, at + piece); });
    });
  }
  static Outcome ask(test::SimPair& pair, HttpScript& server, HttpClientRequest request) {
    HttpClientOptions options;
    options.deadlines.first_byte = kFirstByte;
    HttpClient client(*pair.there, options);
    std::optional<Outcome> outcome;
    const TimePoint begun = pair.there->now();
    request.url = server.url();
    EXPECT_TRUE(client.fetch(std::move(request), [&](Result<HttpResponse> answer) {
      outcome.emplace(std::move(answer), pair.there->now() - begun);
    }));
    EXPECT_TRUE(pair.run_until([&] { return outcome.has_value(); }));
    return outcome ? std::move(*outcome) : Outcome{fail(ETIME), {}};
  }
  // Answers a request with a slow series of interim answers. If the request waits for 100 Continue, the series begins
  // after its head. Expects that the client gives up after `least`.
  static void expect_given_up(HttpClientRequest request, size_t piece, Duration least) {
    test::SimPair pair(1, {});
    HttpScript server(*pair.here,
                      [&](Connection& connection, const Request&) { drip(connection, kProcessing, piece); });
    if (request.expects_continue) {
      server.on_head = [&](Connection& connection, std::string_view) { drip(connection, kProcessing, piece); };
    }
    const Outcome outcome = ask(pair, server, std::move(request));
    ASSERT_FALSE(outcome.answer);
    EXPECT_EQ(outcome.answer.error(), HttpTrouble::kFirstByteTimeout) << outcome.answer.error().message();
    EXPECT_GE(outcome.took, least);
    EXPECT_LE(outcome.took, least + kSlack);
  }
};

TEST_F(InterimAnswersHoldNoDeadline, in_whole_pieces) {
  expect_given_up(HttpClientRequest(), kProcessing.size(), kFirstByte);
}

// Each piece ends inside a status line, which could be the status line of the final answer.
TEST_F(InterimAnswersHoldNoDeadline, cut_inside_a_status_line) {
  for (const size_t piece : {kProcessing.size() - 1, kProcessing.size() + 5}) {
    test::SimPair pair(1, {});
    HttpScript server(*pair.here,
                      [&](Connection& connection, const Request&) { drip(connection, kProcessing, piece); });
    const Outcome outcome = ask(pair, server, HttpClientRequest());
    ASSERT_FALSE(outcome.answer);
    EXPECT_EQ(outcome.answer.error(), HttpTrouble::kFirstByteTimeout);
    EXPECT_LE(outcome.took, kFirstByte + milliseconds(400) + kSlack)
        << "the next piece shows that the answer is interim";
  }
}

TEST_F(InterimAnswersHoldNoDeadline, after_a_body) {
  expect_given_up(HttpClientRequest("PUT", "", "body"), kProcessing.size(), kFirstByte);
}

// A 102 does not ask for the body. The body is sent after continue_timeout, 1 s, and then the deadline begins.
TEST_F(InterimAnswersHoldNoDeadline, while_the_body_waits_for_100_continue) {
  HttpClientRequest request("PUT", "", "body");
  request.expects_continue = true;
  expect_given_up(request, kProcessing.size(), kFirstByte + seconds(1));
}

TEST_F(InterimAnswersHoldNoDeadline, after_100_continue) {
  test::SimPair pair(1, {});
  HttpScript server(*pair.here, [](Connection&, const Request&) {});
  server.on_head = [](Connection& connection, std::string_view) {
    connection.send("HTTP/1.1 100 Continue\r\n\r\n");
    drip(connection, kProcessing, kProcessing.size());
  };
  HttpClientRequest request("PUT", "", "body");
  request.expects_continue = true;
  const Outcome outcome = ask(pair, server, request);
  ASSERT_FALSE(outcome.answer);
  EXPECT_EQ(outcome.answer.error(), HttpTrouble::kFirstByteTimeout);
  EXPECT_LE(outcome.took, kFirstByte + kSlack);
}

// The final answer has begun in time. read_window limits how long the rest of it may take.
TEST_F(InterimAnswersHoldNoDeadline, a_final_answer_that_begins_in_time_may_take_longer) {
  constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere";
  for (const size_t piece : {size_t{1}, size_t{10}}) {
    test::SimPair pair(1, {});
    HttpScript server(*pair.here, [&](Connection& connection, const Request&) {
      connection.send(kProcessing);
      drip(connection, kAnswer, piece);
    });
    const Outcome outcome = ask(pair, server, HttpClientRequest());
    ASSERT_TRUE(outcome.answer) << outcome.answer.error().message();
    EXPECT_EQ(outcome.answer->body, "there");
    EXPECT_GE(outcome.took, kFirstByte);
  }
}

}  // namespace
}  // namespace peal
