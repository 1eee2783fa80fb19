// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/hdr_log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/histogram_codec.h>
#include <load/record/sample_record.h>

namespace peal::load {
namespace {

TEST(HdrLog, a_line_for_each_interval_behind_the_header) {
  const RunRecord record = sample_record({.interval_histograms = true});
  const std::string first = encode_histogram(*record.outcome.intervals[0].latency);
  const std::string second = encode_histogram(*record.outcome.intervals[1].latency);
  EXPECT_EQ(hdr_log(record),
            "#[peal load pingpong 127.0.0.1:9981, latency in ns]\n"
            "#[Histogram log format version 1.2]\n"
            "#[StartTime: 1700000000.500 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]\n"
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
            "0.000,1.000,0.001," +
                first + "\n1.000,1.000,0.001," + second + "\n");
}

TEST(HdrLog, intervals_without_a_histogram_are_left_out) {
  EXPECT_THAT(hdr_log(sample_record({})), testing::EndsWith("Interval_Compressed_Histogram\"\n"));
}

}  // namespace
}  // namespace peal::load
