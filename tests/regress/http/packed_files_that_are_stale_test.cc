// SPDX-License-Identifier: BSD-3-Clause
// A page was overwritten in place, with its old size, and its old modification time was restored (rsync --inplace
// --times). Clients without gzip got the new page. The other clients got the old page, compressed, for ever. Both got
// the old ETag. Now a file is recognised by st_ctim, which no program can set.
//
// A second defect concerned a site with more pages than cached_files. If its pages were requested in turn, each request
// compressed its page again. This took 4.6 ms of CPU, against 0.8 ms for the page without compression. Now each loop
// compresses only so many bytes per second.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include <peal/http/files/static_files.h>
#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

namespace fs = std::filesystem;
using test::HttpAnswer;

constexpr const char* kTakesGzip = "Accept-Encoding: gzip\r\n";

class PackedFilesThatAreStale : public test::HttpFilesTest {
 protected:
  // Replaces the file's bytes by as many other bytes, and restores its modification time.
  void overwrite_unnoticed(const std::string& name, std::string_view bytes) {
    const fs::path path = root() / name;
    ASSERT_EQ(bytes.size(), fs::file_size(path));
    const auto modified = fs::last_write_time(path);
    const timespec before = changed(path);
    do {  // the kernel's clock for files may tick only every 10 ms
      write(name, bytes);
      fs::last_write_time(path, modified);
    } while (changed(path).tv_sec == before.tv_sec && changed(path).tv_nsec == before.tv_nsec);
  }
  static timespec changed(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_ctim;
  }
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(PackedFilesThatAreStale);

TEST_P(PackedFilesThatAreStale, are_compressed_again_and_get_another_etag) {
  for (const Duration validity : {Duration(std::chrono::hours(1)), Duration::zero()}) {
    const std::string old_page(5000, 'o');
    const std::string new_page(5000, 'n');
    write("page.html", old_page);
    age("page.html", -100);
    serve_files({.cache_validity = validity});
    const HttpAnswer old_packed = get("/page.html", kTakesGzip);
    const HttpAnswer old_plain = get("/page.html");
    ASSERT_EQ(old_packed.field("Content-Encoding"), "gzip");
    overwrite_unnoticed("page.html", new_page);
    const HttpAnswer packed = get("/page.html", kTakesGzip + ("If-None-Match: " + old_packed.field("ETag") + "\r\n"));
    EXPECT_EQ(packed.status, 200) << "the client would keep the old page";
    EXPECT_EQ(packed.field("Content-Encoding"), "gzip");
    EXPECT_NE(packed.body, old_packed.body);
    const HttpAnswer plain = get("/page.html", "If-None-Match: " + old_plain.field("ETag") + "\r\n");
    EXPECT_EQ(plain.status, 200);
    EXPECT_EQ(plain.body, new_page);
    const HttpAnswer part = get("/page.html", "Range: bytes=0-9\r\nIf-Range: " + old_plain.field("ETag") + "\r\n");
    EXPECT_EQ(part.status, 200) << "a download would continue with bytes of another file";
    drop_server();
  }
}

// Both writes may get the same st_ctim, because before Linux 6.13 it comes from a clock that ticks every few
// milliseconds.
TEST_P(PackedFilesThatAreStale, are_compressed_again_after_two_quick_writes) {
  serve_files({.cache_validity = std::chrono::hours(1)});
  for (size_t i = 0; i < 20; ++i) {
    const std::string name = "page" + std::to_string(i) + ".html";
    write(name, std::string(3000, 'o'));
    EXPECT_EQ(get("/" + name).body, std::string(3000, 'o'));
    const HttpAnswer old_packed = get("/" + name, kTakesGzip);
    write(name, std::string(3000, 'n'));
    EXPECT_EQ(get("/" + name).body, std::string(3000, 'n'));
    EXPECT_NE(get("/" + name, kTakesGzip).body, old_packed.body);
  }
}

// A file that was written this moment may get other bytes under the same st_ctim. So its ETag is weak, and it gets
// another ETag later.
TEST_P(PackedFilesThatAreStale, have_a_weak_etag_right_after_a_write) {
  constexpr int kMostTries = 10'000;  // the clock may tick between the write and the request
  serve_files();
  std::string tag;
  for (int i = 0; i < kMostTries && !tag.starts_with("W/"); ++i) {
    write("page.txt", "old");
    tag = get("/page.txt").field("ETag");
  }
  ASSERT_THAT(tag, testing::StartsWith("W/"));
  let_clock_tick();
  const HttpAnswer later = get("/page.txt", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(later.status, 200);
  EXPECT_THAT(later.field("ETag"), testing::StartsWith("\""));
}

TEST_P(PackedFilesThatAreStale, get_another_etag_if_the_compressed_file_lies_beside_the_page) {
  write("page.html", std::string(5000, 'p'));
  age("page.html", -100);
  write("page.html.gz", "packed 1");
  serve_files({.cache_validity = std::chrono::hours(1)});
  const HttpAnswer before = get("/page.html", kTakesGzip);
  EXPECT_EQ(before.body, "packed 1");
  overwrite_unnoticed("page.html.gz", "packed 2");
  const HttpAnswer after = get("/page.html", kTakesGzip + ("If-None-Match: " + before.field("ETag") + "\r\n"));
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(after.body, "packed 2");
}

TEST_P(PackedFilesThatAreStale, are_compressed_only_up_to_a_limit_per_second) {
  constexpr size_t kFiles = 40;
  constexpr size_t kFileBytes = 8000;
  constexpr size_t kPackedASecond = 8;
  const std::string page(kFileBytes, 'p');
  for (size_t i = 0; i < kFiles; ++i) write(std::to_string(i) + ".html", page);
  serve_files({.compressed_bytes_per_second = kPackedASecond * kFileBytes, .cached_files = 4});
  const TimePoint begin = loop().now();
  size_t packed = 0;
  for (size_t i = 0; i < 3 * kFiles; ++i) {
    const HttpAnswer answer = get("/" + std::to_string(i % kFiles) + ".html", kTakesGzip);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Vary"), "Accept-Encoding");
    if (answer.has("Content-Encoding")) {
      ++packed;
    } else {
      EXPECT_EQ(answer.body, page);
    }
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(loop().now() - begin).count();
  EXPECT_LE(packed, kPackedASecond * static_cast<size_t>(seconds + 1));
  EXPECT_GE(packed, kPackedASecond);
  // In the next second, other pages may be compressed.
  run_for(std::chrono::milliseconds(1001));
  EXPECT_EQ(get("/0.html", kTakesGzip).field("Content-Encoding"), "gzip");
}

}  // namespace
}  // namespace peal
