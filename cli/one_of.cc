// SPDX-License-Identifier: BSD-3-Clause
#include <cli/one_of.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/words/near_names.h>

namespace peal::cli {

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));  // choices_of() reads this form
  return {[words = std::move(words)](const std::string& text) {
            if (std::ranges::find(words, text) != words.end()) return std::string();
            return fmt::format("it takes {}, not '{}'{}", fmt::join(words, " or "), text, did_you_mean(words, text));
          },
          shown};
}

}  // namespace peal::cli
