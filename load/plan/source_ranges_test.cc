// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/source_ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> sources(std::string_view text) {
  const auto parsed = parse_source_ranges(text);
  if (!parsed) return {parsed.error()};
  std::vector<std::string> all;
  for (const SocketAddress& address : *parsed) all.push_back(address.to_string());
  return all;
}

TEST(SourceRanges, single_addresses_keep_their_order) {
  EXPECT_THAT(sources("127.0.0.5,127.0.0.2,::1"), ElementsAre("127.0.0.5:0", "127.0.0.2:0", "[::1]:0"));
}

TEST(SourceRanges, a_range_has_both_its_ends) {
  EXPECT_THAT(sources("127.0.0.2-127.0.0.4"), ElementsAre("127.0.0.2:0", "127.0.0.3:0", "127.0.0.4:0"));
  EXPECT_THAT(sources("127.0.0.255-127.0.1.0"), ElementsAre("127.0.0.255:0", "127.0.1.0:0"));
  EXPECT_THAT(sources("127.0.0.9-127.0.0.9"), ElementsAre("127.0.0.9:0"));
  EXPECT_THAT(sources("fd00::ffff-fd00::1:1"), ElementsAre("[fd00::ffff]:0", "[fd00::1:0]:0", "[fd00::1:1]:0"));
  EXPECT_THAT(sources("255.255.255.254-255.255.255.255"), SizeIs(2));
}

TEST(SourceRanges, a_block_has_all_its_addresses) {
  EXPECT_THAT(sources("10.0.0.4/30"), ElementsAre("10.0.0.4:0", "10.0.0.5:0", "10.0.0.6:0", "10.0.0.7:0"));
  EXPECT_THAT(sources("10.0.0.0/28"), SizeIs(16));
  EXPECT_THAT(sources("10.0.0.7/32"), ElementsAre("10.0.0.7:0"));
  EXPECT_THAT(sources("fd00::/127"), ElementsAre("[fd00::]:0", "[fd00::1]:0"));
}

TEST(SourceRanges, forms_mix) {
  EXPECT_THAT(sources("127.0.0.2-127.0.0.3,127.0.1.0/31,127.0.0.9"),
              ElementsAre("127.0.0.2:0", "127.0.0.3:0", "127.0.1.0:0", "127.0.1.1:0", "127.0.0.9:0"));
}

TEST(SourceRanges, a_zone_stays_with_its_address) {
  EXPECT_THAT(sources("fe80::1%lo,fe80::2%lo"), ElementsAre("[fe80::1%lo]:0", "[fe80::2%lo]:0"));
}

TEST(SourceRanges, the_number_of_addresses_is_limited) {
  EXPECT_THAT(sources("127.1.0.0/16"), SizeIs(kMostSources));
  EXPECT_THAT(sources("fd00::/112"), SizeIs(kMostSources));
  EXPECT_THAT(sources("127.1.0.0/16,127.0.0.1"), ElementsAre(HasSubstr("more than 65536")));
  EXPECT_THAT(sources("127.0.0.0-128.0.0.0"), ElementsAre(HasSubstr("more than 65536")));
  EXPECT_THAT(sources("::-ffff::"), ElementsAre(HasSubstr("more than 65536")));
  EXPECT_THAT(sources("127.0.0.0/15"), ElementsAre(HasSubstr("more than 65536")));
  EXPECT_THAT(sources("::/0"), ElementsAre(HasSubstr("more than 65536")));
}

TEST(SourceRanges, a_bad_text_gives_a_sentence) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"", "'' is not a numeric address"},
      {"here", "'here' is not a numeric address"},
      {"127.0.0.1,", "'' is not a numeric address"},
      {"127.0.0.1:80", "not a numeric address"},
      {"[::1]", "not a numeric address"},
      {"unix:/run/x", "not a numeric address"},
      {"127.0.0.1 ", "not a numeric address"},
      {"127.0.0.5-127.0.0.2", "goes backwards"},
      {"127.0.0.5-::1", "one address family"},
      {"127.0.0.5-", "has ''"},
      {"-127.0.0.5", "has ''"},
      {"127.0.0.1-127.0.0.2-127.0.0.3", "has '127.0.0.2-127.0.0.3'"},
      {"127.0.0.1-5", "has '5'"},
      {"10.0.0.5/28", "is not a block: the block begins at 10.0.0.0"},
      {"fd00::5/124", "is not a block: the block begins at fd00::"},
      {"10.0.0.0/33", "a prefix of '33'"},
      {"10.0.0.0/", "a prefix of ''"},
      {"10.0.0.0/-1", "a prefix of '-1'"},
      {"x/8", "has 'x'"},
      {"fe80::1%no-such-interface", "not a numeric address"},
  };
  for (const auto& [text, why] : bad) {
    EXPECT_THAT(sources(text), ElementsAre(AllOf(StartsWith("--source-addresses: "), HasSubstr(why)))) << text;
  }
}

}  // namespace
}  // namespace peal::load
