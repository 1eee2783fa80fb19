// SPDX-License-Identifier: BSD-3-Clause
// Each response of a table is parsed in one piece, in two pieces for each possible cut, byte by byte, and by a parser
// that was used before. The outcome must always be that of the table.
#include <peal/wire/http/http_response_parser.h>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <tests/support/http/http_response_run.h>

namespace peal {
namespace {

using test::HttpResponseOutcome;
using test::HttpResponseRun;
using Error = HttpParseError;

struct Case {
  std::string_view situation;
  std::string input;
  HttpResponseOutcome outcome = {};
  HttpResponseRun run = {};
};

// A valid response: done, HTTP/1.1, keep-alive, and all bytes are consumed (except those that with_rest() adds).
Case good(std::string_view situation, std::string input, int status, std::optional<uint64_t> length, std::string body) {
  HttpResponseOutcome outcome{.done = true, .head_complete = true, .status = status, .minor_version = 1};
  outcome.keep_alive = true;
  outcome.content_length = length;
  outcome.body = std::move(body);
  outcome.used = input.size();
  return {situation, std::move(input), outcome};
}
Case with_rest(Case item, std::string_view rest) {
  item.input += rest;
  return item;
}
Case and_closes(Case item) {
  item.outcome.keep_alive = false;
  return item;
}
Case as_chunked(Case item) {
  item.outcome.chunked = true;
  return item;
}
Case as_http_1_0(Case item) {
  item.outcome.minor_version = 0;
  return item;
}
Case of_head(Case item) {
  item.run.answers_head = true;
  return item;
}
Case at_close(Case item) {
  item.run.closes = true;
  return and_closes(std::move(item));
}
Case bad(std::string_view situation, std::string input, Error error, std::string body = "") {
  return {situation, std::move(input), {.error = error, .body = std::move(body)}};
}
Case cut_short(std::string_view situation, std::string input, std::string body = "") {
  Case item = bad(situation, std::move(input), Error::kCutShort, std::move(body));
  item.run.closes = true;
  return item;
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";
const std::string kChunkedAnswer = kOk + "Transfer-Encoding: chunked\r\n\r\n";
using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;

std::vector<Case> framings() {
  return {
      good("a short body", kOk + "Content-Length: 5\r\n\r\nhello", 200, 5, "hello"),
      with_rest(good("the next response behind it", kOk + "Content-Length: 2\r\n\r\nhi", 200, 2, "hi"), kOk),
      good("no body", kOk + "Content-Length: 0\r\n\r\n", 200, 0, ""),
      good("five headers",
           kOk + "Server: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 23:26:44 GMT\r\nContent-Type: text/plain\r\n" +
               "Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc",
           200, 3, "abc"),
      good("no reason", "HTTP/1.1 204 \r\n\r\n", 204, {}, ""),
      good("not even the space before it", "HTTP/1.1 204\r\n\r\n", 204, {}, ""),
      with_rest(good("not modified", "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", 304, 9, ""), "HTTP/1.1 "),
      with_rest(of_head(good("of HEAD", kOk + "Content-Length: 9\r\n\r\n", 200, 9, "")), "HTTP/1.1 "),
      as_chunked(of_head(good("of HEAD, chunked", kChunkedAnswer, 200, {}, ""))),
      good("interim first",
           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\nContent-Length: 7\r\n\r\n" + kOk +
               "Content-Length: 1\r\n\r\nx",
           200, 1, "x"),
      with_rest(and_closes(good("switched", "HTTP/1.1 101 Switching\r\nUpgrade: w\r\n\r\n", 101, {}, "")), "\x01\x02"),
      at_close(good("until the close", kOk + "\r\nall of it", 200, {}, "all of it")),
      at_close(good("until the close, nothing", kOk + "A:\r\n\r\n", 200, {}, "")),
      at_close(good("coded until the close", kOk + "Transfer-Encoding: chunked, gzip\r\n\r\nzz", 200, {}, "zz")),
      as_chunked(
          good("chunks", kChunkedAnswer + "5\r\nhello\r\n00A\r\n, the rest\r\n0\r\n\r\n", 200, {}, "hello, the rest")),
      as_chunked(good("chunk extensions and trailers",
                      kChunkedAnswer + "5 ;a=\"b;c\"\t;d\r\nhello\r\n0;last\r\nA: b\r\nDigest-256:\t1\r\n\r\n", 200, {},
                      "hello")),
      as_chunked(with_rest(
          good("chunked by another name",
               kOk + "tRANSFER-eNCODING: gzip\r\nTransfer-Encoding:, CHUNKED ,\r\n\r\n0\r\n\r\n", 200, {}, ""),
          "H")),
      as_chunked(
          and_closes(good("both framings: the coding wins, the connection ends",
                          kOk + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, {}, ""))),
      good("the same length twice", kOk + "Content-Length: 2\r\nContent-Length: 2, 2\r\n\r\nhi", 200, 2, "hi"),
      good("odd but legal headers",
           kOk + "X-1st_~!:  a\tb \r\nEmpty:\r\nIf-Modified-Sinceish-And-Long: \x80\xff\r\ncontent-LENGTH:2\r\n\r\nhi",
           200, 2, "hi"),
      and_closes(good("close", kOk + "Content-Length: 0\r\nConnection: upgrade , Close\r\n\r\n", 200, 0, "")),
      and_closes(as_http_1_0(good("1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0, ""))),
      as_http_1_0(
          good("1.0 kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", 200, 0, "")),
      good("a status nobody knows", "HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n", 999, 0, ""),
  };
}

std::vector<Case> faults() {
  std::vector<Case> cases;
  for (const char* line :
       {"\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.x 200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 099 OK\r\n", "HTTP/1.1 2a0 OK\r\n",
        "HTTP/1.1 20a OK\r\n", "HTTP/1.1 a00 OK\r\n", "HTTP/1.1 200 O\rK\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1\r\n", "HTTP/1.1 200-OK\r\n", "\n", "ICY 200 OK\n", "HTTP/1.10 200 OK and more\r\n"}) {
    cases.push_back(bad("status line", line + "Server: x, and enough of it\r\n\r\n"s, Error::kBadStatusLine));
  }
  for (const std::string& line :
       {"No colon"s, ": no name"s, "Space : x"s, "Tab\t: x"s, " folded"s, "\tfolded"s, "Na me: x"s, "Bare: a\rb"s,
        "Nul: a\0b"s, "Nul\0: ab"s, "Bell: \a"s, "(x): y"s, "N\xc3\xa4me: x"s, "VT: \v"s, "Return: a\r"s}) {
    cases.push_back(
        bad("header", kOk + "A: b\r\n" + line + "\r\nServer: x, and enough of it\r\n\r\n", Error::kBadHeader));
    cases.push_back(
        bad("trailer", kChunkedAnswer + "1\r\nx\r\n0\r\nA: b\r\n" + line + "\r\n\r\n", Error::kBadHeader, "x"));
  }
  for (const char* value : {"", "-1", "+1", "0x5", "5 5", "5;", "1.0", "a", "1, 2", ",", "18446744073709551616",
                            "99999999999999999999999"}) {
    cases.push_back(bad("length", kOk + "Content-Length: " + value + "\r\n\r\n", Error::kBadContentLength));
  }
  for (const char* value :
       {"", ",", "chunked, chunked", "chunked, gzip, chunked", "chunked\r\nTransfer-Encoding: chunked"}) {
    cases.push_back(bad("coding", kOk + "Transfer-Encoding: " + value + "\r\n\r\n", Error::kBadTransferEncoding));
  }
  for (const char* chunk : {"\r\n", " 5\r\nhello", "g\r\n", "-5\r\nhello", "0x5\r\nhello", "5 \r\nhello", "5\rhello",
                            "10000000000000000\r\n", "5;\a\r\nhello", ";a\r\n", "5 x\r\nhello", "5\r\r\n"}) {
    cases.push_back(bad("chunk", kChunkedAnswer + chunk, Error::kBadChunk));
  }
  const std::vector<Case> more = {
      bad("two lengths", kOk + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", Error::kBadContentLength),
      bad("coding in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Error::kBadTransferEncoding),
      bad("more data than the chunk has", kChunkedAnswer + "5\r\nhello!\r\n", Error::kBadChunk, "hello"),
      bad("no LF behind a chunk", kChunkedAnswer + "5\r\nhello\r\r\n", Error::kBadChunk, "hello"),
      bad("LF alone: status line", "HTTP/1.1 200 OK\nServer: x, and enough of it\r\n\r\n", Error::kBadLineEnd),
      bad("LF alone: header", kOk + "Server: x, and enough of it\nA: b\r\n\r\n", Error::kBadLineEnd),
      bad("LF alone: end of head", kOk + "Server: x\r\n\nand some body that is long enough", Error::kBadLineEnd),
      bad("LF alone: chunk size", kChunkedAnswer + "5\nhello\r\n", Error::kBadLineEnd),
      bad("LF alone: extension", kChunkedAnswer + "5;a\nhello\r\n", Error::kBadLineEnd),
      bad("LF alone: chunk data", kChunkedAnswer + "5\r\nhello\n", Error::kBadLineEnd, "hello"),
      bad("LF alone: trailer", kChunkedAnswer + "0\r\nA: b\n\r\n", Error::kBadLineEnd),
      bad("a size line beyond the limit", kChunkedAnswer + "5;" + std::string(4096, 'x') + "\r\n",
          Error::kChunkLineTooLong),
      cut_short("closed at once", ""),
      cut_short("closed in the status line", "HTTP/1.1 200 O"),
      cut_short("closed in the head", kOk + "Content-Length: 0\r\n"),
      cut_short("closed after an interim response", "HTTP/1.1 100 Continue\r\n\r\n"),
      cut_short("closed in the body", kOk + "Content-Length: 5\r\n\r\nhell", "hell"),
      cut_short("closed in a chunk", kChunkedAnswer + "5\r\nhell", "hell"),
      cut_short("closed before the last chunk", kChunkedAnswer + "5\r\nhello\r\n", "hello"),
      cut_short("closed in the trailers", kChunkedAnswer + "0\r\nA: b\r\n"),
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = framings();
  for (Case& item : faults()) cases.push_back(std::move(item));
  return cases;
}

TEST(HttpResponseParser, whole) {
  for (const Case& item : all_cases())
    EXPECT_EQ(item.run(item.input), item.outcome) << item.situation << '\n' << item.input;
}

TEST(HttpResponseParser, cut_in_two_at_every_place) {
  for (const Case& item : all_cases()) {
    for (size_t cut = 0; cut <= std::min<size_t>(item.input.size(), 300); ++cut) {
      ASSERT_EQ(item.run(item.input, {cut}), item.outcome) << item.situation << ", cut at " << cut << '\n'
                                                           << item.input;
    }
  }
}

TEST(HttpResponseParser, byte_by_byte) {
  for (const Case& item : all_cases()) {
    EXPECT_EQ(item.run(item.input, test::every_byte(item.input)), item.outcome) << item.situation << '\n' << item.input;
  }
}

// The parser may recognise a head as a repetition of the last one. So each kind of response is parsed after each kind.
TEST(HttpResponseParser, one_after_another) {
  const std::vector<Case> cases = all_cases();
  HttpResponseParser parser;
  for (const Case& first : cases) {
    for (const Case& second : cases) {
      first.run(parser, first.input);
      ASSERT_EQ(second.run(parser, second.input), second.outcome) << first.situation << ", then " << second.situation;
      ASSERT_EQ(second.run(parser, second.input), second.outcome) << second.situation << ", again";
    }
  }
}

TEST(HttpResponseParser, the_same_head_for_get_and_then_for_head) {
  const std::string input = kOk + "Content-Length: 5\r\n\r\nhello";
  HttpResponseParser parser;
  EXPECT_EQ(HttpResponseRun{}(parser, input).body, "hello");
  EXPECT_EQ(HttpResponseRun{.answers_head = true}(parser, input).used, input.size() - 5);
  EXPECT_EQ(HttpResponseRun{}(parser, input).body, "hello");
}

// Mutants of the table are parsed in one piece and in random pieces, by a parser that was used before. Both outcomes
// must be equal.
TEST(HttpResponseParser, garbage) {
  const std::vector<Case> cases = all_cases();
  constexpr std::string_view kSpice = "\r\n\r\n::;,; \t0159afAF\0\x7f\x80\xffHCTK-/"sv;
  std::mt19937 random(20261121);
  const auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  HttpResponseParser used_before;
  for (int round = 0; round < 20000; ++round) {
    const Case& item = cases[below(cases.size())];
    std::string input =
        item.input.substr(0, 400) + (below(4) == 0 ? cases[below(cases.size())].input.substr(0, 200) : "");
    for (size_t times = below(4); times > 0 && !input.empty(); --times) {
      const size_t at = below(input.size());
      switch (below(3)) {
        case 0: input[at] = kSpice[below(kSpice.size())]; break;
        case 1: input.insert(at, 1, kSpice[below(kSpice.size())]); break;
        default: input.erase(at, 1 + below(3)); break;
      }
    }
    std::vector<size_t> cuts;
    for (size_t at = 0; (at += 1 + below(60)) < input.size();) cuts.push_back(at);
    const HttpResponseOutcome whole = item.run(input);
    ASSERT_EQ(item.run(input, cuts), whole) << "round " << round << '\n' << input;
    ASSERT_EQ(item.run(used_before, input), whole) << "round " << round << '\n' << input;
  }
}

TEST(HttpResponseParser, bytes_of_no_protocol_at_all) {
  std::mt19937 random(7);
  std::string noise(4000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  for (size_t size = 0; size < 200; ++size) {
    const HttpResponseOutcome outcome =
        HttpResponseRun{.closes = true}(std::string_view(noise).substr(size * 10, size));
    EXPECT_FALSE(outcome.done);
  }
}

TEST(HttpResponseParser, a_head_without_end) {
  constexpr size_t kLimit = 1000;
  for (const std::string& piece : {"A: b\r\n"s, "x"s, "Set-Cookie: something longer than a mask of bytes\r\n"s}) {
    HttpResponseParser parser({.head_bytes = kLimit});
    parser.begin();
    size_t taken = parser.parse(kOk);
    for (size_t given = 0; given < 10 * kLimit && parser.error() == Error::kNone; given += piece.size()) {
      taken += parser.parse(piece);
    }
    EXPECT_EQ(parser.error(), Error::kHeadTooLarge) << piece;
    EXPECT_LE(taken, kLimit);
    EXPECT_EQ(parser.parse("\r\n\r\n"), 0U);
  }
}

TEST(HttpResponseParser, interim_responses_without_end) {
  HttpResponseParser parser;
  parser.begin();
  size_t taken = 0;
  while (parser.error() == Error::kNone && taken < 1'000'000) taken += parser.parse("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(parser.error(), Error::kHeadTooLarge);
}

TEST(HttpResponseParser, a_head_just_within_and_just_beyond_the_limit) {
  const std::string head = kOk + "Content-Length: 2\r\n\r\n";
  for (const size_t cut : {size_t{0}, size_t{5}, head.size() - 1}) {
    HttpResponseParser within({.head_bytes = head.size()});
    EXPECT_EQ(HttpResponseRun{}(within, head + "hi", {cut}).body, "hi");
    HttpResponseParser beyond({.head_bytes = head.size() - 1});
    EXPECT_EQ(HttpResponseRun{}(beyond, head + "hi", {cut}).error, Error::kHeadTooLarge);
  }
}

TEST(HttpResponseParser, trailers_without_end) {
  HttpResponseParser parser({.head_bytes = 1000});
  parser.begin();
  size_t taken = parser.parse(kChunkedAnswer + "0\r\n");
  for (int times = 0; times < 1000 && parser.error() == Error::kNone; ++times) taken += parser.parse("A: b");
  EXPECT_EQ(parser.error(), Error::kHeadTooLarge);
  EXPECT_LE(taken, 2000U);
}

TEST(HttpResponseParser, a_body_of_more_than_memory) {
  HttpResponseParser parser;
  parser.begin();
  parser.parse(kOk + "Content-Length: 18446744073709551615\r\n\r\nabc");
  EXPECT_EQ(parser.content_length(), UINT64_MAX);
  EXPECT_EQ(parser.body_bytes(), 3U);
  EXPECT_FALSE(parser.done());
}

TEST(HttpResponseParser, what_is_known_when) {
  HttpResponseParser parser;
  parser.begin();
  EXPECT_FALSE(parser.started());
  EXPECT_EQ(parser.parse(""), 0U);
  EXPECT_FALSE(parser.started());
  parser.parse("H");
  EXPECT_TRUE(parser.started());
  parser.parse("TTP/1.1 200 OK\r\nContent-Length: 1\r\n\r");
  EXPECT_FALSE(parser.head_complete());
  parser.parse("\n");
  EXPECT_TRUE(parser.head_complete());
  EXPECT_FALSE(parser.done());
  EXPECT_EQ(parser.parse("xy"), 1U);
  EXPECT_TRUE(parser.done());
  EXPECT_TRUE(parser.end()) << "a close behind a complete response is no error";
  parser.begin();
  EXPECT_FALSE(parser.started());
  EXPECT_FALSE(parser.end());
}

TEST(HttpParseError, each_has_a_phrase_of_its_own) {
  std::vector<std::string_view> phrases;
  for (int value = 0; value < kHttpParseErrors; ++value) {
    const std::string_view phrase = to_string(static_cast<Error>(value));
    EXPECT_EQ(std::ranges::count(phrases, phrase), 0) << phrase;
    EXPECT_NE(phrase, "unknown error");
    phrases.push_back(phrase);
  }
  EXPECT_EQ(to_string(static_cast<Error>(kHttpParseErrors)), "unknown error");
}

}  // namespace
}  // namespace peal
