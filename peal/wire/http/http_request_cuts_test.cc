// SPDX-License-Identifier: BSD-3-Clause
// Any split of the same input must give the same events, with each ScanKind, also if the HttpRequestHead was used
// before. The inputs are samples of all valid and faulty requests, and mutants of them.
#include <random>

#include <gtest/gtest.h>

#include <tests/support/http/http_request_run.h>

namespace peal {
namespace {

using test::ForcedScan;
using test::read_requests;
using std::string_view_literals::operator""sv;

// Small limits, so that mutants exceed them.
constexpr HttpLimits kLimits{.request_line_bytes = 100,
                             .field_line_bytes = 90,
                             .fields = 8,
                             .head_bytes = 400,
                             .body_bytes = 40,
                             .chunk_line_bytes = 30,
                             .chunk_extension_bytes = 40,
                             .trailer_bytes = 40};

constexpr std::string_view kSamples[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/8\r\nAccept: */*\r\nConnection: "
    "keep-alive\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "\r\nOPTIONS * HTTP/1.1\r\nHost:\r\n\r\n\r\n\r\nCONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
    "GET http://a.example:80/p?q HTTP/1.1\r\nHost: [::1]:9\r\nA-Name-Of-More-Than-Thirty-Two-Bytes: \t v \r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\nhello worldPUT / HTTP/1.1\r\n",
    "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\nA ; c\r\n0123456789\r\n0\r\n"
    "T: t\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: a=b; c=d; e=f; g=h; i=j; "
    "k\r\n\r\n",
    "GET / HTTP/1.1\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 41\r\n\r\n01234567890123456789012345678901234567890",
    "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
    "chunked\r\n\r\n20\r\n0123456789012345678901234567890\r\r\n0\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
    "chunked\r\n\r\n20\r\n01234567890123456789012345678901\r\n20\r\n01234567"
    "890123456789012345678901\r\n0\r\n\r\n",
    "GET /0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123 HTTP/1.1\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\nA: 8\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: "
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv,
};

TEST(HttpRequestCuts, in_two_at_every_place) {
  for (const auto kind : test::scans_of_this_machine()) {
    const ForcedScan scan(kind);
    for (const std::string_view input : kSamples) {
      const std::string whole = read_requests(input, {}, kLimits);
      for (size_t cut = 0; cut <= input.size(); ++cut) {
        ASSERT_EQ(read_requests(input, {cut}, kLimits), whole) << "cut at " << cut << '\n' << input;
      }
      ASSERT_EQ(read_requests(input, test::every_byte(input), kLimits), whole) << input;
    }
  }
}

TEST(HttpRequestCuts, each_scan_sees_the_same) {
  for (const std::string_view input : kSamples) {
    const ForcedScan portable(ScanKind::kPortable);
    const std::string whole = read_requests(input, {}, kLimits);
    for (const auto kind : test::scans_of_this_machine()) {
      const ForcedScan scan(kind);
      EXPECT_EQ(read_requests(input, {}, kLimits), whole) << input;
    }
  }
}

// Each beginning of a sample must give the first events of the whole sample, and no others.
TEST(HttpRequestCuts, no_event_comes_too_early) {
  for (const std::string_view input : kSamples) {
    const std::string whole = read_requests(input, {}, kLimits);
    for (size_t size = 0; size <= input.size(); ++size) {
      std::string seen = read_requests(input.substr(0, size), {}, kLimits);
      if (seen.ends_with("...\n")) seen.resize(seen.size() - 4);
      ASSERT_TRUE(whole.starts_with(seen)) << seen << "of\n" << whole;
    }
  }
}

std::string mutant(std::mt19937& random) {
  constexpr std::string_view kSpice = "\r\n\r\n::;,; \t0159afAF\0\x7f\x80\xffHCTK-/?#%[]@\"="sv;
  const auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  const auto sample = [&] { return kSamples[below(std::size(kSamples))]; };
  std::string input(sample());
  if (below(3) == 0) input += sample();
  for (size_t times = below(4); times > 0 && !input.empty(); --times) {
    const size_t at = below(input.size());
    switch (below(4)) {
      case 0: input[at] = kSpice[below(kSpice.size())]; break;
      case 1: input.insert(at, 1, kSpice[below(kSpice.size())]); break;
      case 2: input.erase(at, 1 + below(3)); break;
      default: {
        const std::string_view other = sample();
        input.insert(at, other.substr(below(other.size()), below(30)));
        break;
      }
    }
  }
  return input;
}

TEST(HttpRequestCuts, mutants_in_random_pieces) {
  std::mt19937 random(20261122);
  const auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  const auto kinds = test::scans_of_this_machine();
  HttpRequestHead used_before;
  int failed = 0;
  constexpr int kRounds = 12000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string input = mutant(random);
    std::vector<size_t> cuts;
    for (size_t at = 0; (at += 1 + below(60)) < input.size();) cuts.push_back(at);
    const ForcedScan scan(kinds[below(kinds.size())]);
    const std::string whole = read_requests(input, {}, kLimits);
    ASSERT_EQ(read_requests(input, cuts, kLimits), whole) << "round " << round << '\n' << input;
    HttpRequestParser parser(kLimits);
    const ForcedScan another(kinds[below(kinds.size())]);
    ASSERT_EQ(read_requests(parser, used_before, input), whole) << "round " << round << '\n' << input;
    failed += parser.error() != HttpParseError::kNone ? 1 : 0;
  }
  EXPECT_GT(failed, kRounds / 4);
  EXPECT_LT(failed, kRounds * 9 / 10) << "mutants that all fail at once prove little";
}

}  // namespace
}  // namespace peal
