// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_precondition.h>

#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using Answer = HttpPrecondition::Answer;
using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

constexpr int64_t kModified = 784111777;  // the example of RFC 9110: Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::string_view kThen = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kBefore = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr std::string_view kAfter = "Mon, 07 Nov 1994 00:00:00 GMT";
constexpr HttpValidators kOurs{.entity_tag = R"("xyzzy")", .last_modified = kModified, .now = kModified + 1000};

Answer answer(const Fields& fields, bool reads = true, const HttpValidators& validators = kOurs) {
  HttpPrecondition precondition(validators);
  for (const auto& [name, value] : fields) precondition.take(name, value);
  return precondition.answer(reads);
}

HttpRanges::Answer part(const Fields& fields, const HttpValidators& validators = kOurs) {
  HttpPrecondition precondition(validators);
  for (const auto& [name, value] : fields) precondition.take(name, value);
  HttpRanges ranges;
  return precondition.ranges(1000, ranges);
}

TEST(HttpPrecondition, without_conditions_all_goes_on) {
  EXPECT_EQ(answer({}), Answer::kProceed);
  EXPECT_EQ(answer({{"Host", "x"}, {"Accept", "*"}, {"If-Matches", "\"a\""}, {"Rangy", "x"}}), Answer::kProceed);
  EXPECT_EQ(part({}), HttpRanges::Answer::kWhole);
}

TEST(HttpPrecondition, if_match_compares_strongly) {
  EXPECT_EQ(answer({{"If-Match", R"("xyzzy")"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"if-match", R"("xyzzy", "r2d2xxxx", "c3piozzzz")"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"IF-MATCH", R"("r2d2xxxx")"}}), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Match", R"(W/"xyzzy")"}}), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Match", "*"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Match", "*"}}, false), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Match", "xyzzy"}}), Answer::kFailed) << "malformed: it matches nothing";
  EXPECT_EQ(answer({{"If-Match", R"("a")"}, {"If-Match", R"("xyzzy")"}}), Answer::kProceed) << "one list in two lines";
  EXPECT_EQ(answer({{"If-Match", R"("xyzzy")"}, {"If-Match", R"("a")"}}), Answer::kProceed);
}

TEST(HttpPrecondition, if_none_match_compares_weakly) {
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", R"(W/"xyzzy")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", R"(W/"xyzzy", W/"r2d2xxxx", W/"c3piozzzz")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", "*"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", R"("r2d2xxxx")"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}}, false), Answer::kFailed) << "304 is for GET and HEAD";
  EXPECT_EQ(answer({{"If-None-Match", R"("a")"}, {"If-None-Match", R"("xyzzy")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}, {"If-None-Match", R"("a")"}}), Answer::kNotModified);
}

TEST(HttpPrecondition, if_modified_since) {
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-Modified-Since", kAfter}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-Modified-Since", kBefore}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}}, false), Answer::kProceed) << "for GET and HEAD alone";
  EXPECT_EQ(answer({{"If-Modified-Since", "yesterday"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}, {"If-Modified-Since", kThen}}), Answer::kProceed) << "given twice";
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}}, true, {.entity_tag = R"("xyzzy")"}), Answer::kProceed)
      << "nobody knows when it was changed";
}

TEST(HttpPrecondition, if_unmodified_since) {
  EXPECT_EQ(answer({{"If-Unmodified-Since", kThen}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", kAfter}}, false), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", kBefore}}), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", kBefore}}, false), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT, x"}}), Answer::kProceed) << "no date";
}

// The order of RFC 9110 13.2.2: entity tags before dates, and conditions that give 412 before those that give 304.
TEST(HttpPrecondition, in_the_order_of_the_standard) {
  EXPECT_EQ(answer({{"If-Unmodified-Since", kBefore}, {"If-Match", R"("xyzzy")"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", kThen}, {"If-Match", R"("a")"}}), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}, {"If-None-Match", R"("a")"}}), Answer::kProceed);
  EXPECT_EQ(answer({{"If-Modified-Since", kBefore}, {"If-None-Match", R"("xyzzy")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}, {"If-Match", R"("a")"}}), Answer::kFailed);
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}, {"If-Match", R"("xyzzy")"}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}, {"If-Unmodified-Since", kThen}}), Answer::kNotModified);
  EXPECT_EQ(answer({{"If-Modified-Since", kThen}, {"If-Unmodified-Since", kBefore}}), Answer::kFailed);
}

TEST(HttpPrecondition, of_what_does_not_exist_yet) {
  const HttpValidators nothing{.now = kModified, .exists = false};
  EXPECT_EQ(answer({{"If-Match", "*"}}, false, nothing), Answer::kFailed) << "only to change, not to create";
  EXPECT_EQ(answer({{"If-None-Match", "*"}}, false, nothing), Answer::kProceed) << "only to create, not to change";
  EXPECT_EQ(answer({{"If-None-Match", "*"}}, false), Answer::kFailed);
  EXPECT_EQ(answer({{"If-Unmodified-Since", kBefore}}, false, nothing), Answer::kProceed);
}

TEST(HttpPrecondition, a_range_is_honoured_only_of_what_the_client_has) {
  using Part = HttpRanges::Answer;
  EXPECT_EQ(part({{"Range", "bytes=0-9"}}), Part::kPartial);
  EXPECT_EQ(part({{"Range", "bytes=1000-"}}), Part::kUnsatisfiable);
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", R"("xyzzy")"}}), Part::kPartial);
  EXPECT_EQ(part({{"If-Range", R"("xyzzy")"}, {"Range", "bytes=0-9"}}), Part::kPartial) << "in either order";
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", R"("a")"}}), Part::kWhole);
  EXPECT_EQ(part({{"Range", "bytes=1000-"}, {"If-Range", R"("a")"}}), Part::kWhole);
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", R"(W/"xyzzy")"}}), Part::kWhole) << "never weakly";
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", kThen}}), Part::kPartial);
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", kAfter}}), Part::kWhole) << "the date must be ours exactly";
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", "x"}}), Part::kWhole);
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", kThen}}, {.last_modified = kModified, .now = kModified + 1}),
            Part::kWhole)
      << "changed so lately that the date says little";
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"Range", "bytes=0-9"}}), Part::kWhole) << "given twice";
  EXPECT_EQ(part({{"If-Range", R"("xyzzy")"}}), Part::kWhole) << "nothing was asked for";
}

TEST(HttpPrecondition, a_weak_tag_of_ours_serves_no_range) {
  const HttpValidators weak{.entity_tag = R"(W/"xyzzy")", .last_modified = kModified, .now = kModified + 1000};
  EXPECT_EQ(part({{"Range", "bytes=0-9"}, {"If-Range", R"(W/"xyzzy")"}}, weak), HttpRanges::Answer::kWhole);
  EXPECT_EQ(answer({{"If-Match", R"("xyzzy")"}}, true, weak), Answer::kFailed);
  EXPECT_EQ(answer({{"If-None-Match", R"("xyzzy")"}}, true, weak), Answer::kNotModified);
}

}  // namespace
}  // namespace peal
