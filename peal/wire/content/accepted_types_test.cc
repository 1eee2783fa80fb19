// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/accepted_types.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace peal {
namespace {

int quality_of(std::initializer_list<std::string_view> fields, std::string_view type) {
  AcceptedTypes accepted;
  for (const std::string_view field : fields) accepted.take(field);
  return accepted.quality(type);
}

// RFC 9110 12.5.1: the most exact range that has a type decides, wherever in the list it stands.
TEST(AcceptedTypes, most_exact_range_counts) {
  const std::string_view field =
      "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5";
  const std::pair<std::string_view, int> cases[] = {
      {"text/plain;format=flowed", 1000}, {"text/plain;format=fixed", 400}, {"text/html", 300}, {"image/jpeg", 500},
      {"text/html;level=3", 300},
  };
  for (const auto& [type, quality] : cases) EXPECT_EQ(quality_of({field}, type), quality) << type;
}

TEST(AcceptedTypes, weights_and_case_as_the_rfc_has_them) {
  const std::pair<std::string_view, int> cases[] = {
      {"text/html", 1000},
      {"TEXT/Html ; Q=0.25", 250},
      {"text/html;q=0", 0},
      {"text/html;q=0.000", 0},
      {"text/html;q=0.001", 1},
      {"text/html;q=1.001", 0},  // malformed, so ignored
      {"text/html;q=", 0},
      {"text/html;q=\"0.5\"", 500},
      {"text/html; charset=\"a,b\";q=0.5, text/plain", 500},  // a comma inside quotes does not separate elements
      {"text/html;q=0, */*", 0},
      {"*/*, text/html;q=0", 0},
      {"text/*;q=0, */*", 0},
      {"*/*;q=0.1", 100},
      {"*", 0},
      {"text", 0},
      {"/html", 0},
      {"text/html-x", 0},
      {"x-text/html", 0},
      {"", 0},
  };
  for (const auto& [field, quality] : cases) EXPECT_EQ(quality_of({field}, "text/html"), quality) << field;
  EXPECT_EQ(quality_of({}, "text/html"), 1000);
  EXPECT_EQ(quality_of({"image/png", "text/html;q=0.5"}, "text/html"), 500);  // RFC 9110 5.3: two lines are one list
}

TEST(AcceptedTypes, best_liked_one_is_chosen) {
  const auto choose = [](std::string_view field) {
    AcceptedTypes accepted;
    accepted.take(field);
    return accepted.choose({"application/json", "text/html"});
  };
  EXPECT_EQ(AcceptedTypes().choose({"application/json", "text/html"}), 0U);
  EXPECT_EQ(choose("*/*"), 0U);
  EXPECT_EQ(choose("text/html,*/*"), 1U);  // equal weights: the type that is named wins
  EXPECT_EQ(choose("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), 1U);
  EXPECT_EQ(choose("text/html;q=0.5,application/json"), 0U);
  EXPECT_EQ(choose("text/html,application/json"), 0U);
  EXPECT_EQ(choose("text/*"), 1U);
  EXPECT_EQ(choose("text/html;q=0"), 0U);
  EXPECT_EQ(choose("image/png"), 0U);
}

// The Accept fields of Prometheus 3 and of a scraper that reads only the older format.
TEST(AcceptedTypes, scrapers) {
  const auto choose = [](std::string_view field) {
    AcceptedTypes accepted;
    accepted.take(field);
    return accepted.choose({"text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0"});
  };
  EXPECT_EQ(
      choose("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
             "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
             "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"),
      1U);
  EXPECT_EQ(choose("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5"), 0U);
  EXPECT_EQ(choose("application/openmetrics-text;q=0"), 0U);
  EXPECT_EQ(choose("application/openmetrics-text;q=0.1,text/plain"), 0U);
  EXPECT_EQ(choose("Application/OpenMetrics-Text"), 1U);
  EXPECT_EQ(choose("application/openmetrics-text-2"), 0U);
  EXPECT_EQ(choose("*/*"), 0U);
}

}  // namespace
}  // namespace peal
