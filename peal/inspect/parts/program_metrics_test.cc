// SPDX-License-Identifier: BSD-3-Clause
// The metrics of a program in each form: as text for Prometheus, as JSON, on a page and in a terminal.
#include <peal/inspect/parts/program_metrics.h>

#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/documents.h>
#include <peal/inspect/parts/forms/html_tables.h>
#include <peal/inspect/parts/forms/text_tables.h>
#include <peal/inspect/parts/snapshot_json.h>
#include <peal/inspect/parts/snapshot_metrics.h>
#include <peal/inspect/parts/warnings.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const MetricReadings& readings, MetricsFormat format) {
  MetricsText text(format);
  add_program_metrics(text, readings);
  return std::move(text).finish();
}

MetricReading counter(std::string name, uint64_t count, MetricLabels labels = {}) {
  return {.name = std::move(name), .help = "Counted.", .labels = std::move(labels), .count = count};
}

MetricReading histogram(std::string name, std::string_view unit, std::initializer_list<int64_t> values) {
  MetricReading reading{.name = std::move(name), .help = "Measured.", .unit = unit, .kind = MetricKind::kHistogram};
  reading.histogram.emplace(HistogramOptions{.lowest = unit == "seconds" ? 1'000 : 1, .significant_digits = 2});
  for (const int64_t value : values) {
    reading.histogram->record(value);
    reading.sum += static_cast<double>(value) * (unit == "seconds" ? 1e-9 : 1);
  }
  return reading;
}

TEST(ProgramMetrics, metrics_of_one_name_are_one_family) {
  MetricReadings readings{
      .metrics = {counter("orders_total", 3, {{"kind", "new"}}), counter("orders_total", 4, {{"kind", "a\"b\\c\nd"}})}};
  readings.metrics.push_back({.name = "wait_bytes", .help = "a\\b", .unit = "bytes", .kind = MetricKind::kGauge});
  readings.metrics.back().value = 1.5;
  EXPECT_EQ(text_of(readings, MetricsFormat::kOpenMetrics),
            "# TYPE orders counter\n"
            "# HELP orders Counted.\n"
            "orders_total{kind=\"new\"} 3\n"
            "orders_total{kind=\"a\\\"b\\\\c\\nd\"} 4\n"
            "# TYPE wait_bytes gauge\n"
            "# UNIT wait_bytes bytes\n"
            "# HELP wait_bytes a\\\\b\n"
            "wait_bytes 1.5\n"
            "# EOF\n");
  EXPECT_THAT(text_of(readings, MetricsFormat::kPrometheus),
              HasSubstr("# TYPE orders_total counter\n# HELP orders_total Counted.\norders_total{kind=\"new\"} 3\n"));
}

TEST(ProgramMetrics, buckets_of_times_are_cumulative_and_have_the_edges_of_turns) {
  MetricReading times = histogram("order_seconds", "seconds", {5'000, 20'000, 20'000, 2'000'000'000, 20'000'000'000});
  times.labels = {{"kind", "new"}};
  const std::string text = text_of({.metrics = {times}}, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("# TYPE order_seconds histogram\n# HELP order_seconds Measured.\n"
                              "order_seconds_bucket{kind=\"new\",le=\"1e-05\"} 1\n"
                              "order_seconds_bucket{kind=\"new\",le=\"3e-05\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("order_seconds_bucket{kind=\"new\",le=\"10\"} 4\n"
                              "order_seconds_bucket{kind=\"new\",le=\"+Inf\"} 5\n"
                              "order_seconds_sum{kind=\"new\"} 22.000045\n"
                              "order_seconds_count{kind=\"new\"} 5\n"));
}

TEST(ProgramMetrics, buckets_of_bytes_and_of_plain_values_have_edges_of_their_own) {
  const std::string bytes =
      text_of({.metrics = {histogram("order_bytes", "bytes", {64, 65, 300})}}, MetricsFormat::kPrometheus);
  EXPECT_THAT(bytes, HasSubstr("order_bytes_bucket{le=\"64\"} 1\norder_bytes_bucket{le=\"256\"} 2\n"));
  EXPECT_THAT(bytes, HasSubstr("order_bytes_bucket{le=\"1073741824\"} 3\n"));
  const std::string items =
      text_of({.metrics = {histogram("order_items", "", {0, 1, 3, 4})}}, MetricsFormat::kPrometheus);
  EXPECT_THAT(items, HasSubstr("order_items_bucket{le=\"1\"} 2\norder_items_bucket{le=\"3\"} 3\n"));
}

TEST(ProgramMetrics, json_has_the_figures_of_each_kind) {
  MetricReading gauge{.name = "wait", .help = "h", .kind = MetricKind::kGauge, .value = -2.5};
  const Json json = program_metrics_json({.metrics = {counter("orders_total", 7, {{"kind", "new"}}), gauge,
                                                      histogram("order_bytes", "bytes", {50, 100})}});
  EXPECT_EQ(json[0], Json::parse(R"({"name":"orders_total","labels":{"kind":"new"},"kind":"counter","value":7,)"
                                 R"("unit":"","help":"Counted."})"));
  EXPECT_EQ(json[1]["value"], -2.5);
  EXPECT_EQ(json[1]["kind"], "gauge");
  EXPECT_EQ(json[2]["kind"], "histogram");
  EXPECT_EQ(json[2]["count"], 2);
  EXPECT_EQ(json[2]["sum"], 150);
  EXPECT_EQ(json[2]["p50"], 50);
  EXPECT_EQ(json[2]["max"], 100);
  EXPECT_EQ(json[2]["histogram"][0], Json::array({64, 1}));
  EXPECT_EQ(json[2]["unit"], "bytes");
  gauge.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(program_metrics_json({.metrics = {gauge}})[0]["value"].is_null());
}

TEST(ProgramMetrics, metrics_follow_those_of_the_inspector_and_are_in_its_json) {
  Snapshot snapshot;
  snapshot.metrics.metrics = {counter("orders_total", 7)};
  const std::string text = to_metrics(snapshot, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("\npeal_hidden_metrics 0\n"));
  EXPECT_THAT(text, HasSubstr("\norders_total 7\n"));
  EXPECT_EQ(to_json(snapshot)["metrics"][0]["value"], 7);
}

TEST(ProgramMetrics, page_and_text_show_values_with_their_unit) {
  MetricReading queue{.name = "queue_bytes", .help = "h", .unit = "bytes", .kind = MetricKind::kGauge, .value = 2048};
  queue.labels = {{"a", "<b>"}, {"c", "d"}};
  Snapshot snapshot;
  snapshot.metrics.metrics = {queue, histogram("order_seconds", "seconds", {2'000'000})};
  const Json overview = overview_document(snapshot);
  const std::string page = html_tables(overview);
  EXPECT_THAT(page, HasSubstr("<section id=\"metrics\"><h2>this program&#39;s metrics</h2>"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"labels\">a=&lt;b&gt;, c=d</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"value\" class=\"n\">2 KiB</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"p50\" class=\"n\">2.01 ms</td>"));
  EXPECT_THAT(page, HasSubstr("<title>to 3 ms: 1</title>"));
  EXPECT_THAT(page, Not(HasSubstr("on their page")));
  const std::string text = text_tables(overview);
  EXPECT_THAT(text, HasSubstr("\nthis program's metrics\n"));
  EXPECT_THAT(text, HasSubstr("2 KiB"));
  EXPECT_THAT(text, HasSubstr("a=<b>, c=d"));
}

TEST(ProgramMetrics, a_program_without_metrics_has_no_table_on_the_overview) {
  EXPECT_FALSE(overview_document({}).contains("metrics"));
  EXPECT_TRUE(part_document({}, "metrics")["metrics"].empty());
}

TEST(ProgramMetrics, the_overview_has_fifty_and_says_how_many_more_there_are) {
  Snapshot snapshot;
  for (int i = 0; i < 1'100; ++i) snapshot.metrics.metrics.push_back(counter("a" + std::to_string(i) + "_total", 1));
  const Json overview = overview_document(snapshot);
  EXPECT_EQ(overview["metrics"].size(), 50U);
  EXPECT_EQ(overview["more_metrics"], 1'050);
  EXPECT_THAT(html_tables(overview), HasSubstr("<p>1,050 more are <a href=\"/program\">on their page</a>.</p>"));
  EXPECT_THAT(text_tables(overview), HasSubstr("(1,050 more; /program has them)\n"));
  EXPECT_EQ(part_document(snapshot, "metrics")["metrics"].size(), 1'100U);
}

TEST(ProgramMetrics, too_many_are_a_warning) {
  Snapshot snapshot;
  EXPECT_TRUE(warnings_of(snapshot).empty());
  snapshot.metrics.hidden = 1'200;
  ASSERT_EQ(warnings_of(snapshot).size(), 1U);
  EXPECT_EQ(warnings_of(snapshot)[0].link, "/program");
  EXPECT_THAT(warnings_of(snapshot)[0].what, HasSubstr("more than 1,000 metrics, so 1,200 of its objects"));
  EXPECT_THAT(to_metrics(snapshot, MetricsFormat::kPrometheus), HasSubstr("\npeal_hidden_metrics 1200\n"));
}

}  // namespace
}  // namespace peal::detail
