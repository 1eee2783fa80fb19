// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/load_options.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;
using testing::HasSubstr;

LoadOptions sensible() {
  LoadOptions options;
  options.target_text = "127.0.0.1:9981";
  options.target = SocketAddress::parse(options.target_text).value();
  return options;
}

TEST(LoadOptions, durations_carry_their_unit) {
  EXPECT_EQ(parse_duration("10s"), Duration(10s));
  EXPECT_EQ(parse_duration("1.5s"), Duration(1500ms));
  EXPECT_EQ(parse_duration("250ms"), Duration(250ms));
  EXPECT_EQ(parse_duration("50us"), Duration(50us));
  EXPECT_EQ(parse_duration("7ns"), Duration(7ns));
  EXPECT_EQ(parse_duration("2m"), Duration(2min));
  EXPECT_EQ(parse_duration("1h"), Duration(1h));
  EXPECT_EQ(parse_duration("0s"), Duration(0));
}

TEST(LoadOptions, what_is_no_duration_is_refused) {
  for (const char* text : {"", "10", "s", "-1s", "10 s", "1s2", "infs", "nans", "1e3s", "100000000h", "10S"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(LoadOptions, spins_are_words_or_bounds) {
  EXPECT_EQ(parse_spin("off").value(), Spin{});
  EXPECT_EQ(parse_spin("auto").value(), (Spin{.mode = Spin::Mode::kAuto}));
  EXPECT_EQ(parse_spin("50us").value(), (Spin{.mode = Spin::Mode::kBound, .bound = 50us}));
  EXPECT_EQ(parse_spin("1ns").value().bound, Duration(1ns));
  EXPECT_EQ(parse_spin("10ms").value().bound, kMaxSpin);
}

TEST(LoadOptions, what_is_no_spin_is_refused) {
  for (const std::string text : {"", "on", "OFF", "50", "us", "0us", "-1us", "+1us", " 50us", "50 us", "50us ", "1.5us",
                                 "50s", "11ms", "10000001ns", "4294967295ms", "99999999999999us", "0x5us"}) {
    EXPECT_EQ(parse_spin(text).error(), errno_code(EINVAL)) << text;
  }
}

TEST(LoadOptions, rates_are_messages_a_second) {
  EXPECT_EQ(parse_rate("20000/s"), 20000);
  EXPECT_EQ(parse_rate("20000"), 20000);
  EXPECT_EQ(parse_rate("20k/s"), 20000);
  EXPECT_EQ(parse_rate("1.5M/s"), 1.5e6);
  EXPECT_EQ(parse_rate("0.5/s"), 0.5);
  for (const char* text : {"", "0", "0/s", "-5/s", "5/m", "5000M/s", "fast", "nan"}) {
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
  }
}

TEST(LoadOptions, sizes_are_whole_bytes_within_bounds) {
  EXPECT_EQ(parse_size("64"), 64U);
  EXPECT_EQ(parse_size("16KiB"), 16384U);
  EXPECT_EQ(parse_size("16MiB"), kMostBytes);
  EXPECT_EQ(parse_size("1"), 1U);
  EXPECT_EQ(parse_size("0"), 0U) << "a frame may be empty";
  for (const char* text : {"", "-1", "1.5", "17MiB", "64x", "KiB"}) EXPECT_EQ(parse_size(text), std::nullopt) << text;
}

TEST(LoadOptions, requests_of_a_connection_are_a_number_or_a_range) {
  const auto expect_range = [](const char* text, uint64_t least, uint64_t most) {
    const std::optional<RequestRange> range = parse_request_range(text);
    ASSERT_TRUE(range.has_value()) << text;
    EXPECT_EQ(range->least, least);
    EXPECT_EQ(range->most, most);
    EXPECT_FALSE(range->endless());
  };
  expect_range("1", 1, 1);
  expect_range("40", 40, 40);
  expect_range("10-100", 10, 100);
  for (const char* text : {"", "0", "0-3", "5-4", "-3", "3-", "a", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_request_range(text).has_value()) << text;
  }
}

TEST(LoadOptions, the_defaults_make_sense) { EXPECT_EQ(options_trouble(sensible()), ""); }

TEST(LoadOptions, threads_without_a_connection_are_refused) {
  LoadOptions options = sensible();
  options.threads = 4;
  EXPECT_THAT(options_trouble(options), HasSubstr("4 threads cannot share 1 connection:"));
  options.connections = 4;
  EXPECT_EQ(options_trouble(options), "");
}

TEST(LoadOptions, out_of_bounds_is_one_sentence) {
  LoadOptions options = sensible();
  options.connections = 0;
  EXPECT_THAT(options_trouble(options), HasSubstr("--connections is 1 to 1000000, not 0"));
  options = sensible();
  options.threads = 0;
  EXPECT_THAT(options_trouble(options), HasSubstr("--threads is 1 to 256, not 0"));
  options = sensible();
  options.duration = Duration::zero();
  EXPECT_THAT(options_trouble(options), HasSubstr("--duration"));
  options = sensible();
  options.pipeline = 0;
  EXPECT_THAT(options_trouble(options), HasSubstr("--pipeline is 1 to 10000, not 0"));
  options = sensible();
  options.interval = Duration(1ms);
  EXPECT_THAT(options_trouble(options), HasSubstr("--interval"));
}

TEST(LoadOptions, a_deadline_needs_a_schedule) {
  LoadOptions options = sensible();
  options.deadline = Duration(50ms);
  EXPECT_THAT(options_trouble(options), HasSubstr("it needs --rate or --arrivals"));
  options.arrivals = ArrivalPlan::constant(1000);
  EXPECT_EQ(options_trouble(options), "");
}

TEST(LoadOptions, a_source_of_another_family_is_refused) {
  LoadOptions options = sensible();
  options.sources = {SocketAddress::parse("127.0.0.2:0").value()};
  EXPECT_EQ(options_trouble(options), "");
  options.sources.push_back(SocketAddress::parse("[::1]:0").value());
  EXPECT_THAT(options_trouble(options), HasSubstr("[::1]:0 cannot reach 127.0.0.1:9981"));
}

TEST(LoadOptions, every_connection_needs_an_fd) {
  LoadOptions options = sensible();
  const size_t one = fds_needed(options);
  options.connections = 1001;
  options.idle_connections = 500;
  EXPECT_EQ(fds_needed(options), one + 1500);
}

}  // namespace
}  // namespace peal::load
