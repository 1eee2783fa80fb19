// SPDX-License-Identifier: BSD-3-Clause
// The tests tests/outside/load_outputs_test.py and inspector_test.py check the text with Prometheus' own parser.
#include <peal/wire/metrics_text.h>

#include <limits>

#include <gtest/gtest.h>

namespace peal {
namespace {

std::string one_of_each(MetricsFormat format) {
  MetricsText text(format, "app_", {{"job", "x"}});
  text.counter("bytes", "bytes", "Bytes sent.", 3);
  text.gauge("depth", "", "Now.", 0.5);
  text.family("build", MetricType::kInfo, "", "What it is.");
  text.sample("_info", 1, {{"version", "1.2"}});
  return std::move(text).finish();
}

TEST(MetricsText, open_metrics_names_the_family_and_ends) {
  EXPECT_EQ(one_of_each(MetricsFormat::kOpenMetrics),
            "# TYPE app_bytes counter\n"
            "# UNIT app_bytes bytes\n"
            "# HELP app_bytes Bytes sent.\n"
            "app_bytes_total{job=\"x\"} 3\n"
            "# TYPE app_depth gauge\n"
            "# HELP app_depth Now.\n"
            "app_depth{job=\"x\"} 0.5\n"
            "# TYPE app_build info\n"
            "# HELP app_build What it is.\n"
            "app_build_info{job=\"x\",version=\"1.2\"} 1\n"
            "# EOF\n");
}

TEST(MetricsText, older_format_names_the_samples_and_has_no_end) {
  EXPECT_EQ(one_of_each(MetricsFormat::kPrometheus),
            "# TYPE app_bytes_total counter\n"
            "# HELP app_bytes_total Bytes sent.\n"
            "app_bytes_total{job=\"x\"} 3\n"
            "# TYPE app_depth gauge\n"
            "# HELP app_depth Now.\n"
            "app_depth{job=\"x\"} 0.5\n"
            "# TYPE app_build_info gauge\n"
            "# HELP app_build_info What it is.\n"
            "app_build_info{job=\"x\",version=\"1.2\"} 1\n");
}

TEST(MetricsText, hostile_label_stays_one_label) {
  MetricsText text(MetricsFormat::kOpenMetrics);
  text.family("x", MetricType::kGauge, "", "h");
  text.sample("", 1, {{"a", "q\"b\\c\nd"}, {"e", ""}});
  EXPECT_EQ(std::move(text).finish(), "# TYPE x gauge\n# HELP x h\nx{a=\"q\\\"b\\\\c\\nd\",e=\"\"} 1\n# EOF\n");
}

TEST(MetricsText, what_is_no_number_is_spelled_as_the_format_wants) {
  MetricsText text(MetricsFormat::kPrometheus);
  text.gauge("x", "", "h", std::numeric_limits<double>::infinity());
  text.sample("", -std::numeric_limits<double>::infinity());
  text.sample("", -std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(std::move(text).finish(), "# TYPE x gauge\n# HELP x h\nx +Inf\nx -Inf\nx NaN\n");
}

}  // namespace
}  // namespace peal
