// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/compression.h>

#include <zlib.h>
#include <zstd.h>

#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

using test::HttpAnswer;

std::string made_text(size_t bytes) {
  std::string made;
  for (size_t at = 0; made.size() < bytes; ++at) made += "row " + std::to_string(at) + ": some text of a report\n";
  made.resize(bytes);
  return made;
}

// Returns the decoded text, as a client that may have only a part of it decodes it. "" if the data is broken.
std::string decoded(const HttpAnswer& answer) {
  std::string out(20'000'000, ' ');
  if (answer.field("Content-Encoding") == "gzip") {
    z_stream z{};
    EXPECT_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(answer.body.data()));
    z.avail_in = static_cast<uInt>(answer.body.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    const int end = inflate(&z, Z_FINISH);
    out.resize(end == Z_STREAM_END ? z.total_out : 0);
    inflateEnd(&z);
    return out;
  }
  if (answer.field("Content-Encoding") != "zstd") return answer.body;
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_inBuffer from{answer.body.data(), answer.body.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  const size_t left = ZSTD_decompressStream(context, &to, &from);
  ZSTD_freeDCtx(context);
  out.resize(left == 0 ? to.pos : 0);
  return out;
}

class Compression : public test::HttpFilesTest {
 protected:
  // Serves `body` as the answer to each request, compressed by `options`.
  void serve_text(std::string body, int status = 200, std::string type = "text/plain",
                  const CompressionOptions& options = {}) {
    serve(Router([=](HttpExchange& exchange) {
      CompressedAnswer answer(exchange, options);
      answer.set_entity_tag("\"v1\"");
      answer.respond(status, type, body);
    }));
  }
  // Serves a stream of these pieces, one in each turn of the loop.
  void serve_pieces(std::vector<std::string> pieces, const CompressionOptions& options = {}) {
    serve(Router([=, this](HttpExchange& exchange) {
      auto answer = std::make_shared<CompressedAnswer>(exchange, options);
      answer->begin(200, "text/plain");
      auto next = std::make_shared<std::function<void(size_t)>>();
      *next = [this, answer, handle = exchange.handle(), pieces, weak = std::weak_ptr(next)](size_t at) {
        handle.run([&](HttpExchange&) {
          if (at == pieces.size()) return answer->end();
          answer->write(pieces[at]);
          loop().after({}, [keep = weak.lock(), at] { (*keep)(at + 1); });
        });
      };
      (*next)(0);
    }));
  }
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(Compression);

TEST_P(Compression, a_body_in_the_coding_the_client_asks_for) {
  const std::string body = made_text(100'000);
  serve_text(body);
  for (const char* coding : {"gzip", "zstd"}) {
    const HttpAnswer answer = get("/", std::string("Accept-Encoding: ") + coding + "\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Content-Encoding"), coding);
    EXPECT_EQ(answer.field("Vary"), "Accept-Encoding");
    EXPECT_EQ(answer.field("ETag"), "W/\"v1\"") << "other bytes under the same tag";
    EXPECT_EQ(answer.field("Content-Length"), std::to_string(answer.body.size()));
    EXPECT_LT(answer.body.size(), body.size() / 5);
    EXPECT_TRUE(same_bytes(decoded(answer), body));
    const HttpAnswer head = ask("HEAD", "/", std::string("Accept-Encoding: ") + coding + "\r\n");
    EXPECT_EQ(head.field("Content-Length"), answer.field("Content-Length"));
    EXPECT_EQ(head.field("Content-Encoding"), coding);
  }
  const HttpAnswer plain = get("/");
  EXPECT_EQ(plain.body, body);
  EXPECT_EQ(plain.field("ETag"), "\"v1\"");
  EXPECT_EQ(plain.field("Vary"), "Accept-Encoding") << "a cache must not give it to others";
  EXPECT_FALSE(plain.has("Content-Encoding"));
  EXPECT_EQ(get("/", "Accept-Encoding: identity;q=0, br\r\n").body, body) << "better than nothing";
}

TEST_P(Compression, not_what_is_small_or_large_or_packed_or_part) {
  const std::string fields = "Accept-Encoding: zstd\r\n";
  struct Row {
    size_t bytes;
    int status;
    const char* type;
  };
  for (const Row row :
       {Row{1023, 200, "text/plain"}, {5001, 200, "text/plain"}, {2000, 200, "image/png"}, {2000, 206, "text/plain"}}) {
    const std::string body = made_text(row.bytes);
    serve_text(body, row.status, row.type, {.largest_bytes = 5000});
    const HttpAnswer answer = get("/", fields);
    EXPECT_EQ(answer.body, body) << row.bytes << ' ' << row.status << ' ' << row.type;
    EXPECT_FALSE(answer.has("Content-Encoding") || answer.has("Vary"));
    EXPECT_EQ(answer.field("ETag"), "\"v1\"");
  }
  serve_text(made_text(1024), 404, "text/html; charset=utf-8");
  EXPECT_EQ(get("/", fields).field("Content-Encoding"), "zstd") << "a page of an error is a page";
}

TEST_P(Compression, what_does_not_become_smaller_goes_as_it_is) {
  std::string body;
  for (uint32_t at = 0, random = 1; at < 2000; ++at) {
    random = random * 1664525 + 1013904223;
    body += static_cast<char>(random >> 24);
  }
  serve_text(body);
  const HttpAnswer answer = get("/", "Accept-Encoding: gzip\r\n");
  EXPECT_TRUE(answer.body == body);
  EXPECT_FALSE(answer.has("Content-Encoding"));
}

TEST_P(Compression, a_stream_of_which_each_piece_arrives) {
  const std::vector<std::string> pieces = {"first", made_text(50'000), "", "last"};
  serve_pieces(pieces);
  for (const char* coding : {"gzip", "zstd"}) {
    const HttpAnswer answer = get("/", std::string("Accept-Encoding: ") + coding + "\r\n");
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.field("Content-Encoding"), coding);
    EXPECT_TRUE(same_bytes(decoded(answer), pieces[0] + pieces[1] + pieces[3]));
    const HttpAnswer head = ask("HEAD", "/", std::string("Accept-Encoding: ") + coding + "\r\n");
    EXPECT_EQ(head.field("Content-Encoding"), coding);
    EXPECT_EQ(head.body, "");
  }
  EXPECT_EQ(get("/").body, pieces[0] + pieces[1] + pieces[3]);
}

TEST_P(Compression, more_streams_than_may_be_coded_go_as_they_are) {
  serve_pieces({made_text(3000)}, {.streams = 0});
  const HttpAnswer answer = get("/", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(answer.body, made_text(3000));
  EXPECT_FALSE(answer.has("Content-Encoding"));
  EXPECT_EQ(answer.field("Vary"), "Accept-Encoding");
}

}  // namespace
}  // namespace peal
