// SPDX-License-Identifier: BSD-3-Clause
// Tests of each fault with its status, and of each limit with an input that just fits and one that just does not.
#include <gtest/gtest.h>

#include <tests/support/http/http_request_run.h>

namespace peal {
namespace {

using test::read_requests;
using std::string_literals::operator""s;

// Expects the same fault for the input in one piece, with more bytes after it, and byte by byte.
void expect_fault(const std::string& input, const std::string& seen, const HttpLimits& limits = {}) {
  EXPECT_EQ(read_requests(input, {}, limits), seen) << input;
  EXPECT_EQ(read_requests(input + "GET / HTTP/1.1\r\nHost: x\r\n\r\n", {}, limits), seen) << input;
  EXPECT_EQ(read_requests(input, test::every_byte(input), limits), seen) << input;
}

const std::string kGet = "GET / HTTP/1.1\r\n";
const std::string kHost = "Host: h\r\n";
const std::string kChunked = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kChunkedSeen =
    "PUT / path=/ query= authority=h 1.1 keep chunked [Host=h] [Transfer-Encoding=chunked]\n";

TEST(HttpRequestFaults, request_lines) {
  for (const std::string& line : {"GET"s,
                                  "GET /"s,
                                  "GET / "s,
                                  " GET / HTTP/1.1"s,
                                  "GET / HTTP/1.1 "s,
                                  "GET / HTTP/1.1 x"s,
                                  "GET /a b HTTP/1.1"s,
                                  "GET / http/1.1"s,
                                  "GET / HTTP/1.10"s,
                                  "GET / HTTP/11"s,
                                  "GET / HTTP/1,1"s,
                                  "GET / HTTP/ 1.1"s,
                                  "GET / HTTP/x.1"s,
                                  "GET / FTP/1.1"s,
                                  "G(T / HTTP/1.1"s,
                                  "G\xc3\xa4T / HTTP/1.1"s,
                                  "GET\t/ HTTP/1.1"s,
                                  "GET:/ HTTP/1.1"s,
                                  "\x16\x03\x01\x02"s,
                                  "GET / HTTP/1.1\rx"s,
                                  "G\0T / HTTP/1.1"s,
                                  "GET /\0 HTTP/1.1"s,
                                  "GET /\x7f HTTP/1.1"s,
                                  "\x1bGET / HTTP/1.1"s}) {
    expect_fault(line + "\r\n" + kHost + "\r\n", "400 malformed request line\n");
  }
  for (const std::string& target : {""s,
                                    " /"s,

                                    "/#f"s,
                                    "/\xc3\xa4"s,
                                    "/a\tb"s,
                                    "*"s,
                                    "a"s,
                                    "http:/h"s,
                                    "http://"s,
                                    "http:///p"s,
                                    "http://u@h/"s,
                                    "http://:80/"s,
                                    "ftp://h/"s,
                                    "http://h:x/"s,
                                    "http://h:65536/"s,
                                    "http://h#f"s,
                                    "h:80"s,
                                    "?q"s,
                                    "http://[::1/"s,
                                    "http://h_%zz/"s,
                                    "//"s + std::string(40, 'x') + "\x80"}) {
    expect_fault("GET " + target + " HTTP/1.1\r\n" + kHost + "\r\n", "400 invalid request target\n");
  }
  for (const std::string target :
       {"/", "*", "h", "h:", "h:0", ":80", "h:65536", "http://h:80/", "u@h:80", "h:80/", "::1:80"}) {
    expect_fault("CONNECT " + target + " HTTP/1.1\r\n" + kHost + "\r\n", "400 invalid request target\n");
  }
  expect_fault("OPTIONS ** HTTP/1.1\r\n" + kHost + "\r\n", "400 invalid request target\n");
  expect_fault("options * HTTP/1.1\r\n" + kHost + "\r\n", "400 invalid request target\n");
  for (const std::string version : {"0.9", "2.0", "3.1", "9.9"}) {
    expect_fault("GET / HTTP/" + version + "\r\n" + kHost + "\r\n", "505 neither HTTP/1.0 nor HTTP/1.1\n");
  }
  expect_fault("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 invalid request target\n");
  expect_fault(std::string(33, 'G') + " / HTTP/1.1\r\n" + kHost + "\r\n", "501 unknown method\n");
  expect_fault("GET / HTTP/1.1\n" + kHost + "\r\n", "400 a line ends in LF without CR\n");
}

TEST(HttpRequestFaults, targets_with_what_no_uri_holds) {
  for (const char byte : "\"<>\\^`{|}"s) {
    for (const std::string& before : {"/a"s, "/?q="s, "/" + std::string(40, 'x') + "?", "http://h/"s, "http://h?"s}) {
      expect_fault("GET " + before + byte + "b HTTP/1.1\r\n" + kHost + "\r\n", "400 invalid request target\n");
    }
  }
}

TEST(HttpRequestFaults, methods_without_end) {
  for (const size_t bytes : {9000U, 40000U}) {  // beyond the limits of what follows it
    expect_fault(std::string(bytes, 'G'), "501 unknown method\n");
    expect_fault(std::string(bytes, 'G') + " / HTTP/1.1\r\n" + kHost + "\r\n", "501 unknown method\n");
  }
  expect_fault(std::string(33, 'G') + " / HTTP/1.1\r\n", "501 unknown method\n", {.request_line_bytes = 32});
  expect_fault(std::string(33, 'G') + " / HTTP/1.1\r\n", "414 the request target is beyond the limit\n",
               {.request_line_bytes = 31});
  expect_fault(std::string(33, 'G') + " / HTTP/1.1\r\n", "431 headers beyond the limit\n", {.head_bytes = 31});
}

TEST(HttpRequestFaults, fields) {
  for (const std::string& line :
       {"No colon"s, ": no name"s, "Space : x"s, "Tab\t: x"s, " folded"s, "\tfolded"s, "Na me: x"s, "Bare: a\rb"s,
        "Nul: a\0b"s, "Nul\0: ab"s, "Bell: \a"s, "(x): y"s, "N\xc3\xa4me: x"s, "VT: \v"s, "Return: a\r"s, "Del: \x7f"s,
        "A: "s + std::string(50, 'x') + "\x01"}) {
    expect_fault(kGet + line + "\r\n" + kHost + "\r\n", "400 malformed header line\n");
    expect_fault(kGet + kHost + line + "\r\n\r\n", "400 malformed header line\n");
  }
  expect_fault(kGet + "Host: h\nA: b\r\n\r\n", "400 a line ends in LF without CR\n");
  expect_fault(kGet + "Host: h\r\n\nA: b\r\n\r\n", "400 a line ends in LF without CR\n");
  expect_fault(kGet + "Host: h\r\n\rA", "400 malformed header line\n");
}

TEST(HttpRequestFaults, hosts) {
  expect_fault(kGet + "\r\n", "400 no Host\n");
  expect_fault(kGet + "Hostess: h\r\n\r\n", "400 no Host\n");
  expect_fault("GET http://h/ HTTP/1.1\r\n\r\n", "400 no Host\n");
  expect_fault(kGet + kHost + kHost + "\r\n", "400 invalid or repeated Host\n");
  expect_fault("GET / HTTP/1.0\r\n" + kHost + "hOST: x\r\n\r\n", "400 invalid or repeated Host\n");
  for (const std::string host :
       {"a b",  "a/b",    "a@b",       "a,b:c", "h:65536",       "h:123456",  "h:1x", "h:-1", "a:1:2", "::1",
        "[::1", "[::1]x", "[1.2.3.4]", "[]",    "[fe80::1%25e]", "h\xc3\xa4", "h%4",  "h?x",  "h#x",   "\"h\""}) {
    expect_fault(kGet + "Host: " + host + "\r\n\r\n", "400 invalid or repeated Host\n");
  }
}

TEST(HttpRequestFaults, lengths_and_codings) {
  for (const std::string length : {"", "-1", "+1", "0x5", "5 5", "5;", "1.0", "a", "5, 5", "5,", "18446744073709551616",
                                   "99999999999999999999999"}) {
    expect_fault(kGet + kHost + "Content-Length: " + length + "\r\n\r\n",
                 "400 invalid or conflicting Content-Length\n");
  }
  const std::string both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_fault(kGet + kHost + both, "400 both Content-Length and Transfer-Encoding\n");
  expect_fault("GET / HTTP/1.0\r\n" + both, "400 both Content-Length and Transfer-Encoding\n");
  for (const std::string second : {"5", "6"}) {
    expect_fault(kGet + kHost + "Content-Length: 5\r\nContent-Length: " + second + "\r\n\r\n",
                 "400 invalid or conflicting Content-Length\n");
  }
  expect_fault("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 invalid Transfer-Encoding\n");
  for (const std::string coding : {"", ",", "gzip", "identity", "chunked, gzip", "chunked, chunked", "xchunked",
                                   "chunked,", ", chunked", "chunked,,chunked", "chunked;q=1", "\"chunked\"",
                                   "chunked\r\nTransfer-Encoding: chunked", "chunked\r\nTransfer-Encoding: x"}) {
    expect_fault(kGet + kHost + "Transfer-Encoding: " + coding + "\r\n\r\n", "400 invalid Transfer-Encoding\n");
  }
  expect_fault(kGet + kHost + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501 unknown transfer coding\n");
  expect_fault(kGet + kHost + "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n",
               "501 unknown transfer coding\n");
  for (const std::string expect : {"", "100-continued", "200-ok", "100-continue, x"}) {
    expect_fault(kGet + kHost + "Expect: " + expect + "\r\n\r\n", "417 unknown expectation\n");
  }
}

TEST(HttpRequestFaults, chunks) {
  for (const std::string chunk : {"\r\n",
                                  " 5\r\nhello",
                                  "g\r\n",
                                  "-5\r\nhello",
                                  "0x5\r\nhello",
                                  "5 \r\nhello",
                                  "5\t\r\nhello",
                                  "5\rhello",
                                  "10000000000000000\r\n",
                                  "5;\a\r\nhello",
                                  ";a\r\n",
                                  "5 x\r\nhello",
                                  "5\r\r\n",
                                  "5;\r\nhello",
                                  "5;=a\r\nhello",
                                  "5;a=\r\nhello",
                                  "5;a=b=c\r\nhello",
                                  "5;a=\"b\"c\r\nhello",
                                  "5;a=\"b\r\nhello",
                                  "5;a=\"\\\r\n",
                                  "5;a \r\nhello",
                                  "5;a b\r\nhello",
                                  "5;a=b;\r\nhello",
                                  "5;(\r\nhello",
                                  "5;a=\xff\r\nhello",
                                  "5,a\r\nhello"}) {
    expect_fault(kChunked + chunk, kChunkedSeen + "400 malformed chunk\n");
  }
  for (const std::string chunk : {"5\nhello\r\n", "5;a\nhello\r\n", "5;a=\"\n"}) {
    expect_fault(kChunked + chunk, kChunkedSeen + "400 a line ends in LF without CR\n");
  }
  expect_fault(kChunked + "5\r\nhello!\r\n", kChunkedSeen + "body hello\n400 malformed chunk\n");
  expect_fault(kChunked + "5\r\nhello\n", kChunkedSeen + "body hello\n400 a line ends in LF without CR\n");
  expect_fault(kChunked + "0\r\nA : b\r\n\r\n", kChunkedSeen + "400 malformed header line\n");
  expect_fault(kChunked + "0\r\nA: b\r\n c\r\n\r\n", kChunkedSeen + "400 malformed header line\n");
  expect_fault(kChunked + "0\r\nA: b\n\r\n", kChunkedSeen + "400 a line ends in LF without CR\n");
}

// Expects that `fits` is within the limit, and that an input with one more byte or line is refused.
void expect_edge(const std::string& fits, const std::string& beyond, const std::string& seen,
                 const HttpLimits& limits) {
  const std::string whole = read_requests(fits, {}, limits);
  EXPECT_TRUE(whole.ends_with("end\n")) << whole;
  EXPECT_EQ(read_requests(fits, test::every_byte(fits), limits), whole);
  expect_fault(beyond, seen, limits);
}

TEST(HttpRequestFaults, limits_of_the_head) {
  const std::string line = "GET /" + std::string(86, 'x') + " HTTP/1.1";  // 100 bytes
  expect_edge(line + "\r\nHost: h\r\n\r\n", "GET /x" + line.substr(5) + "\r\nHost: h\r\n\r\n",
              "414 the request target is beyond the limit\n", {.request_line_bytes = 100});
  const std::string field = "A: " + std::string(97, 'x');
  expect_edge(kGet + kHost + field + "\r\n\r\n", kGet + kHost + field + "x\r\n\r\n",
              "431 a header line is beyond the limit\n", {.field_line_bytes = 100});
  const std::string named = std::string(98, 'n') + ":x";
  expect_edge(kGet + kHost + named + "\r\n\r\n", kGet + kHost + "n" + named + "\r\n\r\n",
              "431 a header line is beyond the limit\n", {.field_line_bytes = 100});
  expect_edge(kGet + kHost + "A: b\r\n\r\n", kGet + kHost + "A: b\r\nA: b\r\n\r\n",
              "431 more header lines than the limit\n", {.fields = 2});
  const std::string head = kGet + kHost + field + "\r\n";
  expect_edge(head + "\r\n", kGet + kHost + "A" + field + "\r\n\r\n", "431 headers beyond the limit\n",
              {.head_bytes = static_cast<uint32_t>(head.size())});
  expect_fault(head + "\r\n", "431 headers beyond the limit\n", {.head_bytes = static_cast<uint32_t>(head.size() - 3)});
}

TEST(HttpRequestFaults, limits_of_the_body) {
  const std::string sized = "PUT / path=/ query= authority=h 1.1 keep length=5 [Host=h] [Content-Length=5]\n";
  const std::string put = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  expect_edge(put + "4\r\n\r\nhell", put + "5\r\n\r\nhello", sized + "413 a body beyond the limit\n",
              {.body_bytes = 4});
  expect_edge(kChunked + "2\r\nhe\r\n2\r\nll\r\n0\r\n\r\n", kChunked + "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
              kChunkedSeen + "body hell\n413 a body beyond the limit\n", {.body_bytes = 4});
  expect_edge(kChunked + "0000001;a\r\nx\r\n0\r\n\r\n", kChunked + "00000001;a\r\nx\r\n0\r\n\r\n",
              kChunkedSeen + "400 a chunk's size line is beyond the limit\n", {.chunk_line_bytes = 11});
  expect_edge(kChunked + "1;ab\r\nx\r\n1;ab\r\nx\r\n0\r\n\r\n", kChunked + "1;ab\r\nx\r\n1;abc\r\nx\r\n0\r\n\r\n",
              kChunkedSeen + "body x\n400 a chunk's size line is beyond the limit\n", {.chunk_extension_bytes = 6});
  const std::string most = read_requests(kChunked + "0\r\nA: b\r\n\r\n", {}, {.trailer_bytes = 8});
  EXPECT_TRUE(most.ends_with("end A: b\r\n\n")) << most;
  expect_fault(kChunked + "0\r\nA: bc\r\n\r\n", kChunkedSeen + "431 headers beyond the limit\n", {.trailer_bytes = 8});
}

TEST(HttpRequestFaults, a_head_without_end_fails_at_its_limit) {
  const HttpLimits limits{.head_bytes = 1000};
  for (const std::string piece : {"A: b\r\n", "x", "Cookie: something longer than two windows of a scan\r\n"}) {
    HttpRequestParser parser(limits);
    HttpRequestHead head;
    std::string input = kGet;
    while (input.size() < 5000 && parser.next(input, head).event == HttpRequestEvent::kNeedMore) input += piece;
    EXPECT_EQ(http_status(parser.error()), 431) << piece;
    EXPECT_LE(input.size(), 1000 + piece.size() + 2);
  }
}

TEST(HttpRequestFaults, what_has_failed_stays_failed) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  EXPECT_EQ(parser.next("\x01", head).event, HttpRequestEvent::kFailed);
  EXPECT_EQ(parser.next("GET / HTTP/1.1\r\nHost: h\r\n\r\n", head).event, HttpRequestEvent::kFailed);
}

}  // namespace
}  // namespace peal
