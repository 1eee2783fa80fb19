// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_coding.h>

#include <algorithm>

#include <peal/wire/parts/http_text.h>
#include <peal/wire/parts/quality.h>

namespace peal {
using detail::kFullQuality;

namespace {

// Reads the weight that follows the name of a coding: weight = OWS ";" OWS "q=" qvalue (RFC 9110 12.4.2). Returns the
// weight in thousandths, 1000 if the text is empty, or nullopt if the text is malformed.
std::optional<int> read_weight(std::string_view text) {
  if (text.empty()) return kFullQuality;
  const std::string_view parameter = detail::trim(text.substr(1));
  if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) return std::nullopt;
  return detail::read_quality(parameter.substr(2));
}

}  // namespace

std::string_view to_string(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::kIdentity: return "identity";
    case ContentCoding::kGzip: return "gzip";
    case ContentCoding::kZstd: return "zstd";
  }
  return "?";
}

std::optional<ContentCoding> content_coding_named(std::string_view name) {
  if (detail::equals_lower(name, "gzip") || detail::equals_lower(name, "x-gzip")) return ContentCoding::kGzip;
  if (detail::equals_lower(name, "zstd")) return ContentCoding::kZstd;
  if (detail::equals_lower(name, "identity")) return ContentCoding::kIdentity;
  return std::nullopt;
}

void AcceptedCodings::take(std::string_view value) {
  seen_ = true;
  for (std::string_view element; detail::next_element(value, element);) {
    const size_t semicolon = std::min(element.find(';'), element.size());
    const std::string_view name = detail::trim(element.substr(0, semicolon));
    const auto weight = read_weight(element.substr(semicolon));
    if (!weight || !detail::is_token(name)) continue;
    if (name == "*") {
      others_ = *weight;
    } else if (const auto coding = content_coding_named(name)) {
      named_[static_cast<size_t>(*coding)] = *weight;
    }
  }
}

int AcceptedCodings::quality(ContentCoding coding) const {
  if (!seen_) return kFullQuality;
  const int named = named_[static_cast<size_t>(coding)];
  if (named != kNotNamed) return named;
  if (others_ != kNotNamed) return others_;
  // The coding "identity" is acceptable unless the client excludes it (RFC 9110 12.5.3). The lowest weight above 0
  // makes it the last choice.
  return coding == ContentCoding::kIdentity ? 1 : 0;
}

std::optional<ContentCoding> AcceptedCodings::choose(std::span<const ContentCoding> available) const {
  std::optional<ContentCoding> best;
  int best_quality = 0;
  for (const ContentCoding coding : available) {
    if (!seen_ && coding == ContentCoding::kIdentity) return coding;
    const int its_quality = quality(coding);
    if (its_quality == 0 || its_quality < best_quality) continue;
    if (its_quality == best_quality && best && coding < *best) continue;
    best = coding;
    best_quality = its_quality;
  }
  return best;
}

}  // namespace peal
