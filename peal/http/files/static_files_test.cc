// SPDX-License-Identifier: BSD-3-Clause
// The fields and the body of an answer with a file.
#include <peal/http/files/static_files.h>

#include <random>

#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

namespace fs = std::filesystem;
using test::HttpAnswer;

class StaticFilesTest : public test::HttpFilesTest {};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(StaticFilesTest);

TEST_P(StaticFilesTest, a_file_and_what_is_said_of_it) {
  write("site/style.css", "body {}\n");
  age("site/style.css", -100);
  serve_files({.cache_control = "max-age=60"});
  const HttpAnswer answer = get("/site/style.css");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "body {}\n");
  EXPECT_EQ(answer.field("Content-Type"), "text/css; charset=utf-8");
  EXPECT_EQ(answer.field("Content-Length"), "8");
  EXPECT_EQ(answer.field("Accept-Ranges"), "bytes");
  EXPECT_EQ(answer.field("Cache-Control"), "max-age=60");
  EXPECT_EQ(answer.field("X-Content-Type-Options"), "nosniff");
  EXPECT_TRUE(answer.field("ETag").starts_with('"') && answer.field("ETag").size() > 5) << answer.head;
  EXPECT_TRUE(answer.field("Last-Modified").ends_with(" GMT")) << answer.head;
  EXPECT_FALSE(answer.has("Vary") || answer.has("Content-Encoding")) << "there is no other";
  EXPECT_EQ(get("/site/style.css").field("ETag"), answer.field("ETag"));
}

TEST_P(StaticFilesTest, files_of_every_size_arrive_whole) {
  serve_files({.content_bytes = 1000});
  for (const size_t bytes : {0, 1, 999, 1000, 1001, 5000, 300'000, 2'000'000}) {
    const std::string content = pattern(bytes);
    write("file.bin", content);
    const HttpAnswer answer = get("/file.bin");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.field("Content-Length"), std::to_string(bytes));
    EXPECT_EQ(answer.field("Content-Type"), "application/octet-stream");
    EXPECT_TRUE(same_bytes(answer.body, content));
  }
}

TEST_P(StaticFilesTest, head_says_what_get_says) {
  write("small.txt", "small");
  write("empty.txt", "");
  write("large.txt", pattern(100'000));
  write("large.txt.gz", "packed");
  age("large.txt", -10);
  serve_files();
  const auto without_date = [](std::string head) { return head.erase(head.find("Date: "), 37); };
  for (const char* fields : {"", "Accept-Encoding: gzip\r\n", "If-Match: \"x\"\r\n", "If-None-Match: *\r\n"}) {
    for (const char* target : {"/small.txt", "/empty.txt", "/large.txt", "/none"}) {
      const HttpAnswer got = get(target, fields);
      const HttpAnswer head = ask("HEAD", target, fields);
      EXPECT_EQ(without_date(head.head), without_date(got.head)) << target << ' ' << fields;
      EXPECT_EQ(head.body, "");
      EXPECT_TRUE(head.complete);
    }
  }
}

TEST_P(StaticFilesTest, other_methods) {
  write("a.txt", "a");
  serve_files();
  for (const char* method : {"PUT", "DELETE", "PATCH", "BREW"}) {
    const HttpAnswer answer = ask(method, "/a.txt");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.field("Allow"), "GET, HEAD, OPTIONS");
  }
  EXPECT_EQ(ask("OPTIONS", "/a.txt").status, 204);
  EXPECT_EQ(ask("OPTIONS", "/a.txt").field("Allow"), "GET, HEAD, OPTIONS");
}

TEST_P(StaticFilesTest, a_folder_is_its_index) {
  write("index.html", "top");
  write("sub/index.html", "sub");
  write("bare/file.txt", "x");
  serve_files();
  EXPECT_EQ(get("/").body, "top");
  EXPECT_EQ(get("/").field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(get("/sub/").body, "sub");
  EXPECT_EQ(get("/bare/").status, 404) << "nothing is listed";
  EXPECT_EQ(get("/index.html/").status, 404) << "a file is no folder";
}

TEST_P(StaticFilesTest, a_folder_without_its_slash_redirects_and_never_elsewhere) {
  for (const char* name : {"sub", "a:b", "evil.com", "name with space", "%41", "deep/er"}) {
    fs::create_directories(root() / name);
  }
  serve_files();
  const auto location = [&](const char* target) {
    const HttpAnswer answer = get(target);
    return answer.status == 301 ? answer.field("Location") : std::to_string(answer.status);
  };
  EXPECT_EQ(location("/sub"), "./sub/");
  EXPECT_EQ(location("/sub?a=/b&c"), "./sub/?a=/b&c");
  EXPECT_EQ(location("/deep/er"), "./er/");
  EXPECT_EQ(location("/a:b"), "./a%3Ab/") << "no scheme";
  EXPECT_EQ(location("/name%20with%20space"), "./name%20with%20space/");
  EXPECT_EQ(location("/%2541"), "./%2541/") << "encoded as it was";
  EXPECT_EQ(location("//evil.com"), "404") << "no host";
  EXPECT_EQ(location("/deep//er"), "404");
  EXPECT_EQ(location("/sub/../evil.com"), "./evil.com/");
}

TEST_P(StaticFilesTest, without_an_index_folders_are_not_there) {
  write("index.html", "top");
  write("sub/index.html", "sub");
  serve_files({.index = ""});
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/sub").status, 404);
  EXPECT_EQ(get("/sub/").status, 404);
  EXPECT_EQ(get("/sub/index.html").body, "sub");
}

TEST_P(StaticFilesTest, siblings_that_are_packed_already) {
  write("a.js", "plain");
  write("a.js.gz", "in gzip");
  write("a.js.zst", "in zstd");
  write("old.js", "newer");
  write("old.js.gz", "forgotten");
  age("a.js", -10);
  age("old.js.gz", -10);
  write("photo.png", "pixels");
  write("photo.png.gz", "packed for nothing");
  serve_files();
  const HttpAnswer plain = get("/a.js");
  const HttpAnswer gzip = get("/a.js", "Accept-Encoding: gzip\r\n");
  const HttpAnswer zstd = get("/a.js", "Accept-Encoding: gzip\r\nAccept-Encoding: zstd\r\n");
  EXPECT_EQ(plain.body, "plain");
  EXPECT_EQ(gzip.body, "in gzip");
  EXPECT_EQ(zstd.body, "in zstd");
  EXPECT_EQ(gzip.field("Content-Encoding"), "gzip");
  EXPECT_EQ(zstd.field("Content-Encoding"), "zstd");
  EXPECT_FALSE(plain.has("Content-Encoding"));
  for (const HttpAnswer& answer : {plain, gzip, zstd}) {
    EXPECT_EQ(answer.field("Vary"), "Accept-Encoding");
    EXPECT_EQ(answer.field("Content-Type"), "text/javascript; charset=utf-8");
  }
  EXPECT_NE(gzip.field("ETag"), plain.field("ETag"));
  EXPECT_NE(gzip.field("ETag"), zstd.field("ETag"));
  EXPECT_EQ(get("/a.js", "Accept-Encoding: gzip\r\nIf-None-Match: " + gzip.field("ETag") + "\r\n").status, 304);
  EXPECT_EQ(get("/a.js", "Accept-Encoding: gzip\r\nIf-None-Match: " + plain.field("ETag") + "\r\n").status, 200);
  EXPECT_EQ(get("/a.js", "Accept-Encoding: gzip\r\nRange: bytes=3-\r\n").body, "gzip");
  EXPECT_EQ(get("/a.js", "Accept-Encoding: br, identity;q=0\r\n").status, 406);
  EXPECT_EQ(get("/a.js.gz").field("Content-Type"), "application/gzip");
  EXPECT_EQ(get("/old.js", "Accept-Encoding: gzip\r\n").body, "newer") << "a sibling older than its file";
  EXPECT_EQ(get("/photo.png", "Accept-Encoding: gzip\r\n").body, "pixels");
}

TEST_P(StaticFilesTest, what_does_not_become_smaller_is_not_sent_plain_to_who_refuses_that) {
  std::mt19937 random(1);
  std::string noise(4000, ' ');
  for (char& byte : noise) byte = static_cast<char>(random());
  write("noise.txt", noise);
  serve_files();
  for (int i = 0; i < 2; ++i) {
    const HttpAnswer answer = get("/noise.txt", "Accept-Encoding: gzip, identity;q=0\r\n");
    EXPECT_EQ(answer.status, 406);
    EXPECT_EQ(answer.field("Vary"), "Accept-Encoding");
  }
  EXPECT_EQ(get("/noise.txt", "Accept-Encoding: gzip\r\n").body, noise);
}

TEST_P(StaticFilesTest, siblings_can_be_left_out) {
  write("a.js", "plain");
  write("a.js.gz", "in gzip");
  age("a.js", -10);
  serve_files({.precompressed = false});
  const HttpAnswer answer = get("/a.js", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(answer.body, "plain");
  EXPECT_FALSE(answer.has("Vary"));
}

TEST_P(StaticFilesTest, a_small_file_is_packed_where_nobody_has_done_so) {
  std::string text;
  for (int at = 0; at < 300; ++at) text += ".rule" + std::to_string(at) + " { margin: 0 }\n";
  write("a.css", text);
  write("tiny.css", "body {}\n");
  write("large.css", pattern(200'000));
  write("noise.css", pattern(2000));
  write("a.png", text);
  age("a.css", -100);
  serve_files();
  const HttpAnswer plain = get("/a.css");
  EXPECT_EQ(plain.body, text);
  EXPECT_EQ(plain.field("Vary"), "Accept-Encoding");
  for (const char* coding : {"gzip", "zstd"}) {
    const std::string fields = std::string("Accept-Encoding: ") + coding + "\r\n";
    const HttpAnswer packed = get("/a.css", fields);
    EXPECT_EQ(packed.field("Content-Encoding"), coding);
    EXPECT_EQ(packed.field("ETag"), "W/" + plain.field("ETag"));
    EXPECT_EQ(packed.field("Content-Length"), std::to_string(packed.body.size()));
    EXPECT_LT(packed.body.size(), text.size() / 3);
    EXPECT_TRUE(packed.body.starts_with(coding == std::string_view("gzip") ? "\x1f\x8b" : "\x28\xb5\x2f\xfd"));
    EXPECT_EQ(get("/a.css", fields).body, packed.body);
    EXPECT_EQ(get("/a.css", fields + "If-None-Match: " + packed.field("ETag") + "\r\n").status, 304);
    for (const char* other : {"/tiny.css", "/large.css", "/noise.css", "/a.png"}) {
      EXPECT_FALSE(get(other, fields).has("Content-Encoding")) << other;
    }
  }
  write("a.css", text + text);
  EXPECT_GT(get("/a.css", "Accept-Encoding: gzip\r\n").body.size(), 0U);
  EXPECT_EQ(get("/a.css").body, text + text);
}

TEST_P(StaticFilesTest, under_a_path_of_a_router_and_by_a_handlers_choice) {
  write("logo.svg", "<svg/>");
  write("app.html", "app");
  const StaticFiles files = StaticFiles::open(root().string(), {.parameter = "file"}).value();
  Router router;
  router.get("/assets/{file*}", files);
  router.get("/app/{page*}", [files](HttpExchange& exchange) { files.serve(exchange, "app.html"); });
  serve(std::move(router));
  EXPECT_EQ(get("/assets/logo.svg").field("Content-Type"), "image/svg+xml");
  EXPECT_EQ(get("/logo.svg").status, 404);
  EXPECT_EQ(get("/app/any/thing").body, "app");
  EXPECT_EQ(ask("POST", "/assets/logo.svg").status, 405);
}

TEST_P(StaticFilesTest, a_root_that_is_none) {
  EXPECT_EQ(StaticFiles::open((root() / "none").string()).error(), std::errc::no_such_file_or_directory);
  write("file", "x");
  EXPECT_EQ(StaticFiles::open((root() / "file").string()).error(), std::errc::not_a_directory);
}

}  // namespace
}  // namespace peal
