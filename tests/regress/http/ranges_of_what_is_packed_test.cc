// SPDX-License-Identifier: BSD-3-Clause
// `curl --compressed -r 0-9` of a page printed nothing. The range was taken from the gzip data that the server made on
// the fly: ten bytes that nobody can decompress. Now a range is a part of the file itself, or of a compressed file that
// lies beside it.
#include <string>

#include <peal/http/files/static_files.h>
#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

using test::HttpAnswer;

class RangesOfWhatIsPacked : public test::HttpFilesTest {
 protected:
  static constexpr const char* kPart = "Accept-Encoding: gzip\r\nRange: bytes=0-9\r\n";
  const std::string page_ = std::string(5'000, 'a') + "end";
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(RangesOfWhatIsPacked);

TEST_P(RangesOfWhatIsPacked, are_parts_of_the_file_itself) {
  write("page.html", page_);
  age("page.html", -100);
  serve_files();
  const HttpAnswer packed = get("/page.html", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(packed.field("Content-Encoding"), "gzip");
  const HttpAnswer part = get("/page.html", kPart);
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, page_.substr(0, 10));
  EXPECT_EQ(part.field("Content-Encoding"), "");
  EXPECT_EQ(part.field("Vary"), "Accept-Encoding");
  EXPECT_EQ(part.field("Content-Range"), "bytes 0-9/5003");
  EXPECT_NE(part.field("ETag"), packed.field("ETag"));
  // The ETag of the file itself gives the range. The ETag of the gzip variant names another version, so the client gets
  // the whole file.
  EXPECT_EQ(get("/page.html", kPart + ("If-Range: " + part.field("ETag") + "\r\n")).status, 206);
  const HttpAnswer whole = get("/page.html", kPart + ("If-Range: " + packed.field("ETag") + "\r\n"));
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, page_);
  // HEAD and conditional requests are answered as without a Range (RFC 9110 14.2).
  EXPECT_EQ(ask("HEAD", "/page.html", kPart).field("Content-Encoding"), "gzip");
  EXPECT_EQ(get("/page.html", kPart + ("If-None-Match: " + part.field("ETag") + "\r\n")).status, 304);
  // A client that accepts nothing but gzip gets the whole page.
  const HttpAnswer all = get("/page.html", std::string("Accept-Encoding: gzip, identity;q=0\r\nRange: bytes=0-9\r\n"));
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(all.field("Content-Encoding"), "gzip");
}

TEST_P(RangesOfWhatIsPacked, are_parts_of_a_compressed_file_beside_it) {
  write("page.html", page_);
  age("page.html", -100);
  write("page.html.gz", "0123456789abc");
  serve_files();
  const HttpAnswer part = get("/page.html", kPart);
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.field("Content-Encoding"), "gzip");
  EXPECT_EQ(part.body, "0123456789");
}

}  // namespace
}  // namespace peal
