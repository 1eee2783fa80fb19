// SPDX-License-Identifier: BSD-3-Clause
// A server that says 102 each 0.4 s held a request with a first_byte of 1 s for 8 s: each interim answer renewed the
// deadline, and the 64 KiB of them that a client takes are good for two days. HttpDeadlines::first_byte is for the
// final answer's first byte, whatever comes before it (RFC 9110 15.2), however it is cut, and of what it answers.
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
constexpr Duration kSlack = milliseconds(50);  // of the network and of ticks

class InterimAnswersHoldNoDeadline : public test::SimTest {
 protected:
  struct Outcome {
    Result<HttpResponse> answer;
    Duration took;
  };

  // Every 0.4 s, for 20 s, a piece of `text`, which begins anew at its end.
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
  // A server that answers each request with that drip, or each head where the request waits for its body to be wanted.
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

TEST_F(InterimAnswersHoldNoDeadline, whole_ones) {
  expect_given_up(HttpClientRequest(), kProcessing.size(), kFirstByte);
}

// Cut so that each piece ends inside a status line, which might be the final one's.
TEST_F(InterimAnswersHoldNoDeadline, cut_anywhere) {
  for (const size_t piece : {kProcessing.size() - 1, kProcessing.size() + 5}) {
    test::SimPair pair(1, {});
    HttpScript server(*pair.here,
                      [&](Connection& connection, const Request&) { drip(connection, kProcessing, piece); });
    const Outcome outcome = ask(pair, server, HttpClientRequest());
    ASSERT_FALSE(outcome.answer);
    EXPECT_EQ(outcome.answer.error(), HttpTrouble::kFirstByteTimeout);
    EXPECT_LE(outcome.took, kFirstByte + milliseconds(400) + kSlack) << "with the next piece it is known";
  }
}

TEST_F(InterimAnswersHoldNoDeadline, behind_a_body) {
  expect_given_up(HttpClientRequest("PUT", "", "body"), kProcessing.size(), kFirstByte);
}

// They do not ask for the body either: that goes out after continue_timeout, 1 s, and is then waited for.
TEST_F(InterimAnswersHoldNoDeadline, while_the_body_waits_for_its_100) {
  HttpClientRequest request("PUT", "", "body");
  request.expects_continue = true;
  expect_given_up(request, kProcessing.size(), kFirstByte + seconds(1));
}

TEST_F(InterimAnswersHoldNoDeadline, behind_a_100) {
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

// The final answer has begun in time; that the rest of it comes is read_window's matter.
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
