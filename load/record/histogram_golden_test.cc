// SPDX-License-Identifier: BSD-3-Clause
// Compares peal's histograms with those of the public Python package `hdrhistogram`. Both record the same values. The
// script tools/make_goldens.py has written the package's results to files, which are called goldens.
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <load/record/histogram_codec.h>
#include <peal/wire/base64.h>
#include <tests/support/histogram_text.h>

namespace peal {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(PEAL_SOURCE_DIR) / "tests/goldens/histogram";

struct Golden {
  HistogramOptions options;
  std::vector<std::pair<std::int64_t, std::uint64_t>> records;
  std::string base64;
  std::uint64_t total = 0;
  std::int64_t min = 0, max = 0;
  double mean = 0, deviation = 0;
  std::vector<std::pair<double, std::int64_t>> percentiles;
  std::vector<std::pair<std::int64_t, std::uint64_t>> buckets;

  Histogram recorded() const {
    Histogram histogram(options);
    for (const auto& [value, count] : records) histogram.record_n(value, count);
    return histogram;
  }
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

Golden parse_golden(const std::filesystem::path& path) {
  Golden golden;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "#") continue;
    if (key == "lowest")
      words >> golden.options.lowest;
    else if (key == "highest")
      words >> golden.options.highest;
    else if (key == "digits")
      words >> golden.options.significant_digits;
    else if (key == "base64")
      words >> golden.base64;
    else if (key == "total")
      words >> golden.total;
    else if (key == "min")
      words >> golden.min;
    else if (key == "max")
      words >> golden.max;
    else if (key == "mean")
      words >> golden.mean;
    else if (key == "deviation")
      words >> golden.deviation;
    else if (key == "record")
      words >> golden.records.emplace_back().first >> golden.records.back().second;
    else if (key == "percentile")
      words >> golden.percentiles.emplace_back().first >> golden.percentiles.back().second;
    else if (key == "bucket")
      words >> golden.buckets.emplace_back().first >> golden.buckets.back().second;
    else
      ADD_FAILURE() << path << ": " << line;
    EXPECT_TRUE(words) << path << ": " << line;
  }
  return golden;
}

std::map<std::string, Golden> all_goldens() {
  std::map<std::string, Golden> goldens;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".txt" || entry.path().stem() == "ours") continue;
    goldens[entry.path().stem()] = parse_golden(entry.path());
  }
  EXPECT_GE(goldens.size(), 10u);
  return goldens;
}

std::string inflated_payload(const std::string& text) {
  const std::string message = base64_decode(text).value_or("");
  std::string payload(1 << 20, '\0');
  uLongf size = payload.size();
  if (message.size() <= 8 ||
      ::uncompress(reinterpret_cast<Bytef*>(payload.data()), &size, reinterpret_cast<const Bytef*>(message.data()) + 8,
                   message.size() - 8) != Z_OK) {
    ADD_FAILURE() << "not an encoding: " << text;
  }
  payload.resize(size);
  return payload;
}

void expect_figures(const Histogram& histogram, const Golden& golden) {
  EXPECT_EQ(histogram.total_count(), golden.total);
  EXPECT_EQ(histogram.min(), golden.min);
  EXPECT_EQ(histogram.max(), golden.max);
  EXPECT_NEAR(histogram.mean(), golden.mean, golden.mean * 1e-14);
  EXPECT_NEAR(histogram.standard_deviation(), golden.deviation, golden.deviation * 1e-14);
  for (const auto& [percent, value] : golden.percentiles) {
    EXPECT_EQ(histogram.value_at_percentile(percent), value) << percent;
  }
  std::vector<std::pair<std::int64_t, std::uint64_t>> buckets;
  histogram.for_each_recorded([&](const Histogram::Bucket& b) { buckets.emplace_back(b.lowest, b.count); });
  EXPECT_EQ(buckets, golden.buckets);
}

TEST(HistogramGoldens, the_same_records_give_the_same_figures) {
  for (const auto& [name, golden] : all_goldens()) {
    SCOPED_TRACE(name);
    expect_figures(golden.recorded(), golden);
  }
}

TEST(HistogramGoldens, their_encoding_reads_back_equal) {
  for (const auto& [name, golden] : all_goldens()) {
    SCOPED_TRACE(name);
    const Result<Histogram> decoded = decode_histogram(golden.base64);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, golden.recorded());
    expect_figures(*decoded, golden);
  }
}

TEST(HistogramGoldens, our_payload_is_theirs_byte_for_byte) {
  for (const auto& [name, golden] : all_goldens()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(encode_histogram(golden.recorded()).starts_with("HISTF"));
    EXPECT_EQ(inflated_payload(encode_histogram(golden.recorded())), inflated_payload(golden.base64));
  }
}

// The file ours.txt contains encodings that peal has written. tools/make_goldens.py has checked that the Python package
// can read them. This test checks that peal still writes the same encodings. It compares them decompressed, because the
// compressed bytes depend on the version of zlib. If the environment variable PEAL_WRITE_GOLDENS is set, the test first
// writes the file anew.
TEST(HistogramGoldens, our_encodings_are_those_the_package_has_read) {
  const auto goldens = all_goldens();
  if (std::getenv("PEAL_WRITE_GOLDENS") != nullptr) {
    std::ofstream file(kFolder / "ours.txt");
    for (const auto& [name, golden] : goldens) file << name << ' ' << encode_histogram(golden.recorded()) << '\n';
  }
  std::istringstream text(read_file(kFolder / "ours.txt"));
  std::set<std::string> seen;
  for (std::string name, base64; text >> name >> base64;) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(goldens.contains(name));
    EXPECT_EQ(inflated_payload(base64), encode_histogram_payload(goldens.at(name).recorded()));
    EXPECT_TRUE(seen.insert(name).second);
  }
  EXPECT_EQ(seen.size(), goldens.size());
}

TEST(HistogramGoldens, percentile_text_is_theirs_byte_for_byte) {
  std::size_t compared = 0;
  for (const auto& [name, golden] : all_goldens()) {
    SCOPED_TRACE(name);
    if (golden.total >= std::uint64_t{1} << 53) continue;  // the Python package never returns for such counts
    EXPECT_EQ(percentile_text(golden.recorded()), read_file(kFolder / (name + ".hgrm")));
    ++compared;
  }
  EXPECT_GE(compared, 9u);
  EXPECT_EQ(percentile_text(all_goldens().at("latencies").recorded(), {.unit = 1e6}),
            read_file(kFolder / "latencies.scaled.hgrm"));
}

}  // namespace
}  // namespace peal
