// SPDX-License-Identifier: BSD-3-Clause
// Answers in gzip and zstd: which are decoded, how they are shown piece by piece, and how broken ones fail.
#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/wire/content/content_encoder.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

class HttpDecodeTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.decode = true;
  }
  static std::string coded(std::string_view body, ContentCoding coding = ContentCoding::kGzip) {
    ContentEncoder encoder(coding, {});
    Buffer output;
    encoder.begin();
    encoder.encode(body, ContentEncoder::Then::kEnd, output);
    return output.to_string();
  }
  static std::string answer(std::string_view body, std::string_view coding, std::string_view status = "200 OK") {
    return fmt::format("HTTP/1.1 {}\r\nA: 1\r\nContent-Encoding: {}\r\ncontent-length: {}\r\nB: 2\r\n\r\n{}", status,
                       coding, body.size(), body);
  }
  std::error_code error_of(std::string text) { return error_of_fetch(HttpClientRequest(serve_text(text).url())); }
};

TEST_P(HttpDecodeTest, what_is_in_gzip_or_zstd_is_asked_for_and_unpacked) {
  const std::string body = pattern(300'000);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    HttpScript& server = serve_text(answer(coded(body, coding), to_string(coding)));
    for (int times = 0; times < 2; ++times) {
      const HttpResponse response = answer_of(HttpClientRequest(server.url()));
      EXPECT_TRUE(same_bytes(response.body, body));
      EXPECT_EQ(response.head.text(), "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n");
    }
    EXPECT_TRUE(server.requests().at(0).has("Accept-Encoding: zstd, gzip"));
    EXPECT_EQ(server.opened(), 1u) << "the connection is kept";
  }
}

TEST_P(HttpDecodeTest, off_nothing_is_asked_for_and_nothing_touched) {
  client_options.decode = false;
  const std::string text = answer(coded("body"), "gzip");
  HttpScript& server = serve_text(text);
  const HttpResponse plain = answer_of(HttpClientRequest(server.url()));
  EXPECT_EQ(plain.head.text() + plain.body, text);
  EXPECT_FALSE(server.requests().at(0).head.contains("Accept-Encoding"));
  HttpClientRequest asking(server.url());
  asking.decode = true;
  EXPECT_EQ(fetch(asking)->body, "body");
  EXPECT_TRUE(server.requests().at(1).has("Accept-Encoding: zstd, gzip"));
}

TEST_P(HttpDecodeTest, what_the_user_asks_for_stays_and_is_unpacked_too) {
  HttpScript& server = serve_text(answer(coded("body"), "X-GZIP"));
  EXPECT_EQ(fetch(HttpClientRequest(server.url()).add("accept-encoding", "gzip;q=0.5"))->body, "body");
  EXPECT_EQ(fetch(HttpClientRequest(server.url()).add("Range", "bytes=0-"))->body, "body");
  EXPECT_TRUE(server.requests().at(0).has("accept-encoding: gzip;q=0.5"));
  for (const Request& request : server.requests()) EXPECT_FALSE(request.head.contains("zstd"));
}

TEST_P(HttpDecodeTest, what_has_no_whole_body_or_another_coding_is_as_it_came) {
  const std::string body = coded("body");
  for (const auto& [coding, status] : {std::pair("br", "200 OK"), std::pair("gzip, zstd", "200 OK"),
                                       std::pair("identity", "200 OK"), std::pair("gzip", "206 Partial Content")}) {
    const std::string text = answer(body, coding, status);
    const HttpResponse response = answer_of(HttpClientRequest(serve_text(text).url()));
    EXPECT_EQ(response.head.text() + response.body, text) << coding;
  }
  const std::string twice = "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n" + body;
  EXPECT_EQ(fetch(HttpClientRequest(serve_text_and_close(twice).url()))->body, body);
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n";
  EXPECT_EQ(fetch(HttpClientRequest("HEAD", serve_text(head).url()))->head.text(), head);
  for (const char* status : {"204 No", "304 Not"}) {
    const std::string none = fmt::format("HTTP/1.1 {}\r\nContent-Encoding: gzip\r\n\r\n", status);
    EXPECT_EQ(fetch(HttpClientRequest(serve_text(none).url()))->head.text(), none);
  }
  EXPECT_EQ(fetch(HttpClientRequest(serve_text(answer("", "gzip")).url()))->body, "") << "servers send that";
}

TEST_P(HttpDecodeTest, a_server_that_lies_about_its_coding) {
  const std::string whole = coded("some body that is long enough to be cut");
  EXPECT_EQ(error_of(answer("this is plain", "gzip")), HttpTrouble::kUndecodable);
  EXPECT_EQ(error_of(answer("this is plain", "zstd")), HttpTrouble::kUndecodable);
  EXPECT_EQ(error_of(answer(whole, "zstd")), HttpTrouble::kUndecodable);
  EXPECT_EQ(error_of(answer(whole.substr(0, whole.size() - 3), "gzip")), HttpTrouble::kUndecodable);
  EXPECT_EQ(error_of(answer(whole + "garbage", "gzip")), HttpTrouble::kUndecodable);
  EXPECT_EQ(client().stats().failed, 5u);
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(HttpDecodeTest, a_bomb_is_bounded_by_what_it_becomes) {
  client_options.answer_limit_bytes = 100'000;
  const std::string zeros(8 << 20, '\0');
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    EXPECT_EQ(error_of(answer(coded(zeros, coding), to_string(coding))), HttpTrouble::kAnswerTooLarge);
    EXPECT_EQ(error_of(answer(coded(zeros.substr(0, 100'001), coding), to_string(coding))),
              HttpTrouble::kAnswerTooLarge);
    EXPECT_EQ(
        fetch(HttpClientRequest(serve_text(answer(coded(zeros.substr(0, 100'000), coding), to_string(coding))).url()))
            ->body.size(),
        100'000u);
  }
  drop_client();
  client_options.answer_limit_bytes = size_t{1} << 30;
  client_options.decoding = {.ratio = 100, .ratio_free_bytes = 1 << 20};
  EXPECT_EQ(error_of(answer(coded(zeros), "gzip")), HttpTrouble::kAnswerTooLarge);
}

TEST_P(HttpDecodeTest, each_piece_is_shown_when_it_comes_and_trailers_behind) {
  ContentEncoder encoder(ContentCoding::kZstd, {});
  encoder.begin();
  ConnectionHandle handle;
  HttpScript& server = serve([&](Connection& connection, const Request&) {
    handle = connection.handle();
    connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n\r\n");
  });
  const auto say = [&](std::string_view bytes, ContentEncoder::Then then) {
    Buffer output;
    encoder.encode(bytes, then, output);
    handle.send(fmt::format("{:x}\r\n{}\r\n", output.size(), output.to_string()));
  };
  std::string got;
  std::string trailers;
  bool head = false;
  begin_fetch(HttpClientRequest(server.url()),
              {.on_head = [&](HttpFetch&, const HttpResponseHead&) { head = true; },
               .on_body = [&](HttpFetch&, std::string_view bytes) { got += bytes; },
               .on_trailers = [&](HttpFetch&, std::string_view lines) { trailers = lines; }});
  ASSERT_TRUE(run_until([&] { return head; }));
  say("first ", ContentEncoder::Then::kFlush);
  ASSERT_TRUE(run_until([&] { return got == "first "; }));
  say("second", ContentEncoder::Then::kEnd);
  ASSERT_TRUE(run_until([&] { return got == "first second"; }));
  handle.send("0\r\nSum: 7\r\n\r\n");
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  EXPECT_EQ(trailers, "Sum: 7\r\n");
}

// A few kilobytes become megabytes. They are shown in small pieces, and none is shown during a pause.
TEST_P(HttpDecodeTest, who_pauses_is_shown_nothing_though_the_answer_has_all_come) {
  const std::string body(4 << 20, 'x');
  HttpScript& server = serve_text(answer(coded(body), "gzip"));
  size_t got = 0;
  size_t pieces = 0;
  std::string order;
  const HttpFetchId id =
      begin_fetch(HttpClientRequest(server.url()), {.on_body =
                                                        [&](HttpFetch& fetch, std::string_view bytes) {
                                                          EXPECT_LE(bytes.size(), 16u * 1024);
                                                          got += bytes.size();
                                                          ++pieces;
                                                          fetch.pause();
                                                        },
                                                    .on_done = [&](const Result<void>&) { order += "done"; }});
  ASSERT_TRUE(run_until([&] { return client().stats().idle == 1; })) << "the connection is free for others";
  EXPECT_EQ(pieces, 1u);
  EXPECT_EQ(fetch(HttpClientRequest(server.url()))->body.size(), body.size()) << "and carries them";
  for (size_t seen = 1; !fetched; ++seen) {
    ASSERT_EQ(pieces, seen);
    HttpFetch* const its = client().find(id);
    ASSERT_NE(its, nullptr);
    EXPECT_TRUE(its->write("dropped") || true);
    its->resume();
    ASSERT_TRUE(run_until([&] { return pieces > seen || fetched; }));
  }
  EXPECT_EQ(got, body.size());
  EXPECT_EQ(order, "done");
  EXPECT_EQ(client().stats().answered, 2u);
}

// The end of the answer is not read yet during the pause, so the connection has to wait too.
TEST_P(HttpDecodeTest, trailers_come_when_all_before_them_is_shown) {
  const std::string body(200'000, 'x');
  HttpScript& server = serve_text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                  fmt::format("{:x}\r\n{}\r\n0\r\nSum: 7\r\n\r\n", coded(body).size(), coded(body)));
  std::string order;
  size_t got = 0;
  const auto id =
      client().start(HttpClientRequest(server.url()), {.on_body =
                                                           [&](HttpFetch& fetch, std::string_view bytes) {
                                                             got += bytes.size();
                                                             fetch.pause();
                                                           },
                                                       .on_trailers =
                                                           [&](HttpFetch&, std::string_view) {
                                                             EXPECT_EQ(got, body.size());
                                                             order += "trailers ";
                                                           },
                                                       .on_done = [&](const Result<void>&) { order += "done"; }});
  ASSERT_TRUE(run_until([&] {
    if (HttpFetch* its = client().find(*id)) its->resume();
    return order == "trailers done";
  }));
}

TEST_P(HttpDecodeTest, cancelled_while_there_is_more_to_show) {
  HttpScript& server = serve_text(answer(coded(std::string(4 << 20, 'x')), "gzip"));
  size_t pieces = 0;
  for (const bool resumes : {false, true}) {
    const HttpFetchId id =
        begin_fetch(HttpClientRequest(server.url()), {.on_body =
                                                          [&](HttpFetch& fetch, std::string_view) {
                                                            ++pieces;
                                                            fetch.pause();
                                                          },
                                                      .on_done = [](const Result<void>&) { ADD_FAILURE(); }});
    ASSERT_TRUE(run_until([&] { return client().stats().idle == 1; }));
    if (resumes) client().find(id)->resume();
    EXPECT_TRUE(client().cancel(id));
  }
  ASSERT_TRUE(run_until([&] { return true; }));
  const auto id = client().start(HttpClientRequest(server.url()), {.on_body = [&](HttpFetch& fetch, std::string_view) {
                                   if (++pieces == 5) throw std::runtime_error("a callback");
                                   fetch.pause();
                                 }});
  ASSERT_TRUE(run_until([&] { return client().stats().idle == 1; }));
  ASSERT_TRUE(run_until([&] {
    if (HttpFetch* its = client().find(*id)) its->resume();
    return client().find(*id) == nullptr;
  })) << "what throws in a piece from memory ends the request too";
  EXPECT_EQ(client().stats().failed, 1u);
  drop_client();
}

TEST_P(HttpDecodeTest, a_stream_is_read_unpacked_as_fast_as_it_is_read) {
  const std::string body = pattern(3 << 20);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    HttpScript& server = serve_text(answer(coded(body, coding), to_string(coding)));
    std::string got;
    auto test = [&]() -> Task<> {
      HttpClientStream stream = client().open(HttpClientRequest(server.url()));
      co_await sleep(std::chrono::milliseconds(5));  // meanwhile the stream reads ahead, up to its limit
      for (;;) {
        auto piece = co_await stream.read();
        EXPECT_TRUE(piece);
        if (!piece || piece->empty()) break;
        EXPECT_LE(piece->size(), 80u * 1024);
        got += piece->to_string();
      }
    };
    Scope scope(loop());
    scope.spawn(test());
    EXPECT_TRUE(run_until([&] { return scope.size() == 0; }));
    EXPECT_TRUE(same_bytes(got, body));
  }
}

TEST_P(HttpDecodeTest, a_redirect_is_asked_for_the_same_way) {
  HttpScript& there = serve_text(answer(coded("there"), "gzip"));
  HttpScript& here = serve_text(
      "HTTP/1.1 302 Found\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\nLocation: " + there.url() + "\r\n\r\nabc");
  EXPECT_EQ(fetch(HttpClientRequest(here.url()))->body, "there");
  EXPECT_TRUE(there.requests().at(0).has("Accept-Encoding: zstd, gzip"));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpDecodeTest);

}  // namespace
}  // namespace peal
