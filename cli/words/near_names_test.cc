// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/near_names.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kServedNames{"echo.EchoService.Echo", "echo.EchoService.Reverse",
                                            "muduo.net.RpcService.listRpc", "Bare"};

TEST(NearNames, letters_are_wrong_missing_or_too_many) {
  for (const char* asked : {"echo.EchoService.Ehco", "echo.EchoServic.Echo", "echo.EchoServices.Echo",
                            "ECHO.ECHOSERVICE.ECHO", "echo.EchoService.Echo"}) {
    EXPECT_THAT(near_names(kServedNames, asked), ElementsAre("echo.EchoService.Echo")) << asked;
  }
}

TEST(NearNames, the_package_or_the_service_is_left_out) {
  EXPECT_THAT(near_names(kServedNames, "EchoService.Echo"), ElementsAre("echo.EchoService.Echo"));
  EXPECT_THAT(near_names(kServedNames, "Ehco"), ElementsAre("echo.EchoService.Echo"));
  EXPECT_THAT(near_names(kServedNames, "bare"), ElementsAre("Bare"));
}

TEST(NearNames, nothing_is_near) {
  for (const char* asked : {"", ".", "sudoku.SudokuService.Solve", "x"})
    EXPECT_THAT(near_names(kServedNames, asked), IsEmpty());
  EXPECT_EQ(did_you_mean(kServedNames, "sudoku.SudokuService.Solve"), "");
  EXPECT_THAT(near_names(kServedNames, std::string(100'000, 'a')), IsEmpty());
}

// Only the first 1000 names of similar length are compared, because each comparison takes time. The right name is found
// as number 1000, but not as number 1001.
TEST(NearNames, of_very_many_names_only_the_first_are_compared) {
  std::vector<std::string> many(1000, std::string(40, 'x'));
  const std::string asked(40, 'y');
  many.push_back(asked);
  EXPECT_THAT(near_names(many, asked), IsEmpty());
  many.erase(many.begin());
  EXPECT_THAT(near_names(many, asked), ElementsAre(asked));
  many.insert(many.begin(), 100'000, "x");
  EXPECT_THAT(near_names(many, asked), ElementsAre(asked))
      << "names of a very different length are not compared, so they do not count";
}

TEST(NearNames, the_nearest_come_first_and_three_at_most) {
  const std::vector<std::string> many{"s.Put", "s.Pot", "s.Putt", "s.Pat", "s.Puts"};
  EXPECT_THAT(near_names(many, "s.Putt"), ElementsAre("s.Putt", "s.Put", "s.Puts"));
  EXPECT_EQ(did_you_mean(many, "s.Putt"), " (did you mean s.Putt or s.Put or s.Puts?)");
}

}  // namespace
}  // namespace peal::cli
