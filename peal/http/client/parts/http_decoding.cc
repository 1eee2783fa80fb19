// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_decoding.h>

#include <algorithm>
#include <optional>

#include <peal/wire/http/http_field.h>

namespace peal::detail {
namespace {

bool is_of_coding(const HttpField& field) {
  return same_field_name(field.name, "Content-Encoding") || same_field_name(field.name, "Content-Length");
}

}  // namespace

std::unique_ptr<HttpDecoding> decoding_of(const HttpResponseHead& head, std::string_view method,
                                          const ContentDecoderLimits& limits) {
  const int status = head.status();
  if (method == "HEAD" || status == 204 || status == 206 || status == 304) return nullptr;
  std::optional<ContentCoding> coding;
  std::string_view lines = head.field_lines();
  for (HttpField field; next_http_field(lines, field);) {
    if (!same_field_name(field.name, "Content-Encoding")) continue;
    const auto named = content_coding_named(field.value);
    if (!named || coding) return nullptr;
    coding = named;
  }
  if (!coding || *coding == ContentCoding::kIdentity) return nullptr;
  return std::make_unique<HttpDecoding>(*coding, limits);
}

HttpResponseHead decoded_head(const HttpResponseHead& head) {
  const std::string_view all = head.text();
  std::string_view lines = head.field_lines();
  std::string text(all.substr(0, static_cast<size_t>(lines.data() - all.data())));
  std::string_view rest = lines;
  for (HttpField field; next_http_field(rest, field);) {
    const std::string_view line = lines.substr(0, lines.size() - rest.size());
    if (!is_of_coding(field)) text += line;
    lines = rest;
  }
  text += "\r\n";
  return HttpResponseHead(std::move(text));
}

void add_accept_encoding(std::vector<HttpRequestField>& fields) {
  const bool said = std::ranges::any_of(fields, [](const HttpRequestField& field) {
    return same_field_name(field.name, "Accept-Encoding") || same_field_name(field.name, "Range");
  });
  if (!said) fields.push_back({"Accept-Encoding", "zstd, gzip"});
}

}  // namespace peal::detail
