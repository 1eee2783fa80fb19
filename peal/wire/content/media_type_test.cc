// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/media_type.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(MediaType, what_the_web_serves) {
  EXPECT_EQ(media_type_of("index.html"), "text/html; charset=utf-8");
  EXPECT_EQ(media_type_of("/a/b.c/style.css"), "text/css; charset=utf-8");
  EXPECT_EQ(media_type_of("app.min.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(media_type_of("data.json"), "application/json");
  EXPECT_EQ(media_type_of("logo.svg"), "image/svg+xml");
  EXPECT_EQ(media_type_of("PHOTO.JPG"), "image/jpeg");
  EXPECT_EQ(media_type_of("module.wasm"), "application/wasm");
  EXPECT_EQ(media_type_of("site.webmanifest"), "application/manifest+json");
  EXPECT_EQ(media_type_of("first.aac"), "audio/aac");
  EXPECT_EQ(media_type_of("last.zst"), "application/zstd");
}

TEST(MediaType, of_an_unknown_extension_or_none) {
  for (const std::string_view path : {"", "Makefile", ".", "..", "a.", "a.unknown", "html", "/a.html/b", "a.html/",
                                      "a.htmlx", "a.ht", "a.html ", "a.webmanifests", "a.\xff"}) {
    EXPECT_EQ(media_type_of(path), "") << path;
  }
  EXPECT_EQ(media_type_of(".html"), "text/html; charset=utf-8") << "a name that is all extension";
}

TEST(MediaType, what_is_worth_compressing) {
  for (const std::string_view type : {"text/html; charset=utf-8", "text/plain", "application/json", "image/svg+xml",
                                      "application/ld+json", "application/wasm", "font/ttf", "application/json ;a=b"}) {
    EXPECT_TRUE(is_compressible(type)) << type;
  }
  for (const std::string_view type : {"", "image/png", "image/jpeg", "application/zip", "application/gzip",
                                      "font/woff2", "video/mp4", "application/octet-stream", "application/pdf"}) {
    EXPECT_FALSE(is_compressible(type)) << type;
  }
}

}  // namespace
}  // namespace peal
