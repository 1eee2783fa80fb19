// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/media_type.h>

#include <algorithm>
#include <array>

#include <peal/base/ascii.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

struct MediaTypeRow {
  std::string_view extension;
  std::string_view type;
};

// The extensions of files that web servers commonly serve, sorted. Types and extensions are those of IANA's registry
// (https://www.iana.org/assignments/media-types). The registry lacks wav and webm: the types here are those that
// browsers use. Types of text have a charset, because browsers would guess it otherwise. JSON needs none, because it is
// always UTF-8 (RFC 8259 8.1). XML and RTF name their encoding themselves.
constexpr MediaTypeRow kMediaTypes[] = {
    {"aac", "audio/aac"},
    {"apng", "image/apng"},
    {"atom", "application/atom+xml"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"glb", "model/gltf-binary"},
    {"gltf", "model/gltf+json"},
    {"gz", "application/gzip"},
    {"heic", "image/heic"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"log", "text/plain; charset=utf-8"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpd", "application/dash+xml"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"rss", "application/rss+xml"},
    {"rtf", "text/rtf"},
    {"svg", "image/svg+xml"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"ts", "video/mp2t"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};
static_assert(std::ranges::is_sorted(kMediaTypes, {}, &MediaTypeRow::extension));

// The types that compress well, sorted. text/*, *+json and *+xml are missing here: is_compressible() recognizes them by
// their prefix or suffix.
constexpr std::string_view kCompressibleTypes[] = {
    "application/javascript",
    "application/json",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/xml",
    "application/yaml",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/vnd.microsoft.icon",
};
static_assert(std::ranges::is_sorted(kCompressibleTypes));

// The length of the longest extension in kMediaTypes.
constexpr size_t kExtensionBytes =
    std::ranges::max(kMediaTypes, {}, [](const MediaTypeRow& row) { return row.extension.size(); }).extension.size();

}  // namespace

std::string_view media_type_of(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] == '/') return {};
  const std::string_view extension = path.substr(dot + 1);
  if (extension.size() > kExtensionBytes) return {};
  std::array<char, kExtensionBytes> lower;
  std::ranges::transform(extension, lower.begin(), [](char byte) { return to_lower(byte); });
  const std::string_view wanted(lower.data(), extension.size());
  const auto* row = std::ranges::lower_bound(kMediaTypes, wanted, {}, &MediaTypeRow::extension);
  return row != std::end(kMediaTypes) && row->extension == wanted ? row->type : std::string_view{};
}

bool is_compressible(std::string_view media_type) {
  const std::string_view type = detail::trim(media_type.substr(0, media_type.find(';')));
  return type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml") ||
         std::ranges::binary_search(kCompressibleTypes, type);
}

}  // namespace peal
