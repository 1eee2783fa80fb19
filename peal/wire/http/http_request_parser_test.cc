// SPDX-License-Identifier: BSD-3-Clause
// Tests of valid requests and of their parts. http_request_faults_test.cc has the faulty requests, and
// http_request_cuts_test.cc splits and changes both.
#include <peal/wire/http/http_request_parser.h>

#include <gtest/gtest.h>

#include <tests/support/http/http_request_run.h>

namespace peal {
namespace {

using test::read_requests;

TEST(HttpRequestParser, a_get) {
  EXPECT_EQ(read_requests("GET /a/b?c=d&e HTTP/1.1\r\nHost: h:80\r\nAccept:*/*\r\n\r\n"),
            "GET /a/b?c=d&e path=/a/b query=c=d&e authority=h:80 1.1 keep [Host=h:80] [Accept=*/*]\nend\n");
}

TEST(HttpRequestParser, the_oldest_and_shortest) {
  EXPECT_EQ(read_requests("GET / HTTP/1.0\r\n\r\n"), "GET / path=/ query= authority= 1.0 close\nend\n");
  EXPECT_EQ(read_requests("X / HTTP/1.1\r\nHost:\r\n\r\n"), "X / path=/ query= authority= 1.1 keep [Host=]\nend\n");
}

TEST(HttpRequestParser, forms_of_the_target) {
  const auto first_line = [](std::string_view request_line) {
    const std::string seen = read_requests(std::string(request_line) + " HTTP/1.1\r\nHost: field\r\n\r\n");
    return seen.substr(0, seen.find(" 1.1"));
  };
  EXPECT_EQ(first_line("GET /%41?x?y"), "GET /%41?x?y path=/%41 query=x?y authority=field");
  EXPECT_EQ(first_line("GET //h/p?"), "GET //h/p? path=//h/p query= authority=field");
  EXPECT_EQ(first_line("GET http://h:8/p?q"), "GET http://h:8/p?q path=/p query=q authority=h:8");
  EXPECT_EQ(first_line("GET HTTPS://[::1]"), "GET HTTPS://[::1] path=/ query= authority=[::1]");
  EXPECT_EQ(first_line("GET http://h?q"), "GET http://h?q path=/ query=q authority=h");
  EXPECT_EQ(first_line("OPTIONS *"), "OPTIONS * path=* query= authority=field");
  EXPECT_EQ(first_line("OPTIONS http://h:8"), "OPTIONS http://h:8 path=* query= authority=h:8");
  EXPECT_EQ(first_line("OPTIONS http://h?q"), "OPTIONS http://h?q path=/ query=q authority=h");
  EXPECT_EQ(first_line("CONNECT h.example:443"), "CONNECT h.example:443 path= query= authority=h.example:443");
  EXPECT_EQ(first_line("CONNECT [::1]:1"), "CONNECT [::1]:1 path= query= authority=[::1]:1");
}

TEST(HttpRequestParser, hosts) {
  for (const std::string_view host :
       {"h", "h:", "h:0", "h:65535", "127.0.0.1:8080", "[::1]", "[2001:db8::1]:443",
        "a-very.long.name-of_some~host.example.org:12345", "%41%zz", "a%2Fb", "!$&'()*+,;="}) {
    const std::string seen = read_requests(fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host));
    if (host == "%41%zz") {
      EXPECT_EQ(seen, "400 invalid or repeated Host\n");
    } else {
      EXPECT_NE(seen.find(fmt::format("authority={} 1.1", host)), std::string::npos) << seen;
    }
  }
}

TEST(HttpRequestParser, odd_but_legal_fields) {
  EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nHOST: h\r\nX-1st_~!#$%&'*+.^`|:  a\tb \t\r\nEmpty:\r\nBlank: \t \r\n"
                          "Text: \x80\xff\r\nA-Name-Of-More-Than-Thirty-Two-Bytes-Indeed: v\r\n\r\n"),
            "GET / path=/ query= authority=h 1.1 keep [HOST=h] [X-1st_~!#$%&'*+.^`|=a\tb] [Empty=] [Blank=] "
            "[Text=\x80\xff] [A-Name-Of-More-Than-Thirty-Two-Bytes-Indeed=v]\nend\n");
}

TEST(HttpRequestParser, bodies) {
  EXPECT_EQ(read_requests("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
            "POST /p path=/p query= authority=h 1.1 keep length=5 [Host=h] [Content-Length=5]\nbody hello\nend\n");
  EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"),
            "GET / path=/ query= authority=h 1.1 keep length=0 [Host=h] [Content-Length=0]\nend\n");
  EXPECT_EQ(
      read_requests("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                    "5 ; a = \"b;\\\"c\" ;d=e\r\nhello\r\n00A\r\n, the rest\r\n0;last\r\nA: b\r\nSum:\t1 \r\n\r\n"),
      "PUT / path=/ query= authority=h 1.1 keep chunked [Host=h] [Transfer-Encoding=Chunked]\n"
      "body hello, the rest\nend A: b\r\nSum:\t1 \r\n\n");
  EXPECT_EQ(read_requests("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "PUT / path=/ query= authority=h 1.1 keep chunked [Host=h] [Transfer-Encoding=chunked]\nend\n");
}

TEST(HttpRequestParser, what_the_connection_is_to_do) {
  const auto fate = [](std::string_view version, std::string_view connection) {
    const std::string seen =
        read_requests(fmt::format("GET / HTTP/{}\r\nHost: h\r\nConnection: {}\r\n\r\n", version, connection));
    return seen.substr(seen.find(" 1.") + 5, 5);
  };
  EXPECT_EQ(fate("1.1", ""), "keep ");
  EXPECT_EQ(fate("1.1", "Keep-Alive"), "keep ");
  EXPECT_EQ(fate("1.1", "close"), "close");
  EXPECT_EQ(fate("1.1", "upgrade , CLOSE"), "close");
  EXPECT_EQ(fate("1.1", "keep-alive, close"), "close");
  EXPECT_EQ(fate("1.0", ""), "close");
  EXPECT_EQ(fate("1.0", "x, keep-alive"), "keep ");
  EXPECT_EQ(fate("1.7", ""), "keep ") << "a higher minor version is read as 1.1";
}

TEST(HttpRequestParser, upgrades_and_expectations) {
  const std::string upgrade = "Host: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_NE(read_requests("GET / HTTP/1.1\r\n" + upgrade).find(" upgrade=websocket "), std::string::npos);
  EXPECT_EQ(read_requests("GET / HTTP/1.0\r\n" + upgrade).find(" upgrade="), std::string::npos);
  EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n").find(" upgrade="),
            std::string::npos);
  const std::string expect = "Host: h\r\nExpect: 100-Continue\r\n";
  EXPECT_NE(read_requests("PUT / HTTP/1.1\r\n" + expect + "Content-Length: 1\r\n\r\nx").find(" expects "),
            std::string::npos);
  EXPECT_EQ(read_requests("PUT / HTTP/1.0\r\n" + expect + "Content-Length: 1\r\n\r\nx").find(" expects "),
            std::string::npos);
  EXPECT_EQ(read_requests("PUT / HTTP/1.1\r\n" + expect + "\r\n").find(" expects "), std::string::npos);
  EXPECT_NE(read_requests("PUT / HTTP/1.0\r\nExpect: else\r\n\r\n").find("end"), std::string::npos);
}

TEST(HttpRequestParser, pipelined_requests_with_and_without_bodies) {
  const std::string get = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string post = "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi";
  const std::string put =
      "PUT /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\nT: t\r\n\r\n";
  EXPECT_EQ(read_requests(get + post + put + get),
            read_requests(get) + read_requests(post) + read_requests(put) + read_requests(get));
}

TEST(HttpRequestParser, empty_lines_before_a_request) {
  const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(read_requests("\r\n" + get), read_requests(get));
  EXPECT_EQ(read_requests("\r\n\r\n" + get + "\r\n\r\n" + get), read_requests(get + get));
  EXPECT_EQ(read_requests("\r\n\r\n\r\n" + get), "400 malformed request line\n");
  EXPECT_EQ(read_requests("\n" + get), "400 a line ends in LF without CR\n");
}

TEST(HttpRequestParser, fields_that_repeat_those_of_the_head_before) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  const std::string fields = "Host: h\r\nX: y\r\nConnection: upgrade\r\nUpgrade: w\r\nContent-Length: 2\r\n\r\n";
  for (const std::string_view start : {"GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\n", "PUT /a/longer?q HTTP/1.1\r\n",
                                       "GET http://other/a HTTP/1.1\r\n", "GET / HTTP/1.0\r\n", "GET / HTTP/1.1\r\n"}) {
    const std::string input = std::string(start) + fields + "hi";
    EXPECT_EQ(read_requests(parser, head, input), read_requests(input));
    const std::string plain = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    if (start.starts_with("PUT")) {
      EXPECT_EQ(read_requests(parser, head, plain), read_requests(plain));
    }
  }
  EXPECT_EQ(read_requests(parser, head, "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"),
            "400 invalid or repeated Host\n");
  HttpRequestParser next(limits);
  const std::string plain = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(read_requests(next, head, plain), read_requests(plain)) << "after a head that failed";
  const HttpLimits fewer{.fields = 4};
  HttpRequestParser strict(fewer);
  read_requests(next, head, "GET / HTTP/1.1\r\n" + fields + "hi");
  EXPECT_EQ(read_requests(strict, head, "GET / HTTP/1.1\r\n" + fields + "hi"),
            "431 more header lines than the limit\n");
}

TEST(HttpRequestHead, fields_are_found_in_any_case) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  const std::string input = "GET / HTTP/1.1\r\nHost: h\r\nETag: 1\r\neTAG: 2\r\nX^: 3\r\nX~: 4\r\n\r\n";
  ASSERT_EQ(parser.next(input, head).event, HttpRequestEvent::kHead);
  EXPECT_EQ(head.find("etag"), "1");
  EXPECT_EQ(head.find("HOST"), "h");
  EXPECT_EQ(head.find("x~"), "4");
  EXPECT_EQ(head.find("x^"), "3");
  EXPECT_EQ(head.find("data"), std::nullopt);
  EXPECT_EQ(head.find(""), std::nullopt);
  EXPECT_EQ(head.field_count(), 5U);
}

TEST(HttpRequestHead, a_copy_elsewhere_reads_the_same) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  std::string input = "GET http://t/p?q HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: w\r\nA: b\r\n\r\n";
  ASSERT_EQ(parser.next(input, head).event, HttpRequestEvent::kHead);
  const std::string before = test::describe(head);
  const std::string copy(head.text());
  head.relocate(copy.data());
  input.assign(input.size(), 'x');
  EXPECT_EQ(test::describe(head), before);
}

TEST(HttpRequestParser, a_body_limit_of_one_request) {
  const HttpLimits limits{.body_bytes = 4};
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  const std::string input = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
  HttpRequestStep step = parser.next(input, head);
  ASSERT_EQ(step.event, HttpRequestEvent::kHead);
  parser.set_body_limit(5);
  const std::string_view rest = std::string_view(input).substr(step.consumed);
  EXPECT_EQ(parser.next(rest, head).body, "hello");
  EXPECT_EQ(parser.next("", head).event, HttpRequestEvent::kEnd);
  step = parser.next(input, head);
  ASSERT_EQ(step.event, HttpRequestEvent::kHead);
  EXPECT_EQ(parser.next("", head).event, HttpRequestEvent::kFailed) << "the next request has the old limit";
  EXPECT_EQ(http_status(parser.error()), 413);
}

TEST(HttpRequestParser, what_is_known_when) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  EXPECT_TRUE(parser.is_idle());
  EXPECT_EQ(parser.next("", head).event, HttpRequestEvent::kNeedMore);
  EXPECT_TRUE(parser.is_idle());
  EXPECT_EQ(parser.next("G", head).event, HttpRequestEvent::kNeedMore);
  EXPECT_FALSE(parser.is_idle());
  const std::string input = "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n";
  EXPECT_EQ(parser.next(input.substr(0, 30), head).event, HttpRequestEvent::kNeedMore);
  EXPECT_TRUE(parser.in_head());
  EXPECT_EQ(parser.next(input, head).event, HttpRequestEvent::kHead);
  EXPECT_FALSE(parser.in_head());
  EXPECT_EQ(parser.next("", head).event, HttpRequestEvent::kNeedMore);
  EXPECT_FALSE(parser.is_idle());
  EXPECT_EQ(parser.next("xGET", head).consumed, 1U);
  EXPECT_EQ(parser.next("GET", head).event, HttpRequestEvent::kEnd);
  EXPECT_TRUE(parser.is_idle());
  EXPECT_LE(sizeof(HttpRequestParser), 56U) << "one per idle connection";
}

}  // namespace
}  // namespace peal
