// SPDX-License-Identifier: BSD-3-Clause
// The fields that decide how a request is answered: dates, entity tags, ranges, conditions and codings. The first byte
// of an input chooses the size of the representation. The second byte chooses its validators and whether it exists. The
// rest is one value, which is used for every field.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/content/content_coding.h>
#include <peal/wire/content/entity_tag.h>
#include <peal/wire/content/http_date.h>
#include <peal/wire/content/http_precondition.h>
#include <peal/wire/content/http_range.h>
#include <peal/wire/content/media_type.h>

namespace peal {
namespace {

constexpr int64_t kNow = 1'700'000'000;

void check_date(std::string_view text) {
  const auto seconds = parse_http_date(text, kNow);
  if (!seconds) return;
  const auto again = format_http_date(*seconds);
  const auto third = parse_http_date({again.data(), again.size()}, kNow);
  // The leap second at the end of year 9999 is the only time that does not come back.
  PEAL_ASSERT(third == seconds || *seconds == 253'402'300'800, "{} seconds come back as {}", *seconds,
              third.value_or(-1));
}

void check_tags(std::string_view list) {
  size_t left = list.size();
  for (EntityTag tag; next_entity_tag(list, tag);) {
    PEAL_ASSERT(list.size() < left, "a tag was read, but no byte was taken");
    left = list.size();
    const std::string text = (tag.weak ? "W/" : "") + std::string(tag.opaque);
    const auto again = parse_entity_tag(text);
    PEAL_ASSERT(again && matches_weakly(*again, tag), "{} is another tag if it is read alone", text);
    PEAL_ASSERT(matches_strongly(*again, tag) == !tag.weak, "{} has a wrong strong match with itself", text);
  }
}

void check_ranges(std::string_view value, uint64_t total) {
  HttpRanges ranges;
  const HttpRanges::Answer answer = ranges.read(value, total);
  if (answer != HttpRanges::Answer::kPartial) return;
  PEAL_ASSERT(!ranges.all().empty() && ranges.all().size() <= kHttpRangesMax, "there are {} ranges",
              ranges.all().size());
  uint64_t together = 0;
  for (const HttpByteRange& range : ranges.all()) {
    PEAL_ASSERT(range.bytes > 0 && range.last() < total, "the range {}+{} is not in {} bytes", range.first, range.bytes,
                total);
    together += range.bytes;
    PEAL_ASSERT(http_content_range(range, total).starts_with("bytes "), "a malformed field for a range from {}",
                range.first);
  }
  PEAL_ASSERT(together <= total, "the ranges have {} bytes of {}", together, total);
}

void check_codings(std::string_view value) {
  using enum ContentCoding;
  AcceptedCodings accepted;
  accepted.take(value);
  const auto best = accepted.choose({kIdentity, kGzip, kZstd});
  for (const ContentCoding coding : {kIdentity, kGzip, kZstd}) {
    const int quality = accepted.quality(coding);
    PEAL_ASSERT(quality >= 0 && quality <= 1000, "{} has a quality of {}", to_string(coding), quality);
    PEAL_ASSERT(best ? accepted.quality(*best) >= quality && accepted.quality(*best) > 0 : quality == 0,
                "{} is better than the chosen coding", to_string(coding));
  }
}

void check_conditions(std::string_view value, uint64_t total, uint8_t options) {
  const HttpValidators validators{
      .entity_tag = (options & 1) != 0 ? "\"a\"" : "W/\"a\"",
      .last_modified = (options & 2) != 0 ? std::optional<int64_t>(784111777) : std::nullopt,
      .now = kNow,
      .exists = (options & 4) == 0,
  };
  for (const std::string_view name : {"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"}) {
    HttpPrecondition precondition(validators);
    precondition.take(name, value);
    PEAL_ASSERT(precondition.answer(false) != HttpPrecondition::Answer::kNotModified, "304 for a method that writes");
    if (!name.starts_with("if-none") && name != "if-modified-since") continue;
    PEAL_ASSERT(precondition.answer(true) != HttpPrecondition::Answer::kFailed, "{} fails a GET", name);
  }
  HttpPrecondition precondition(validators);
  precondition.take("Range", value);
  precondition.take("If-Range", value);
  HttpRanges ranges;
  PEAL_ASSERT(precondition.ranges(total, ranges) == HttpRanges::Answer::kWhole, "a range is taken for a validator");
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t total = uint64_t{data[0]} * data[0] * 100;
  // A copy, so that the sanitizer finds reads beyond its end.
  const std::string value(reinterpret_cast<const char*>(data + 2), size - 2);
  peal::check_date(value);
  peal::check_tags(value);
  peal::check_ranges(value, total);
  peal::check_codings(value);
  peal::check_conditions(value, total, data[1]);
  peal::is_compressible(peal::media_type_of(value));
  return 0;
}
