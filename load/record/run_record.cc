// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/run_record.h>

#include <string_view>

#include <fmt/format.h>

namespace peal::load {
namespace {

std::string range_text(const RequestRange& range) {
  return range.endless() ? "no end" : fmt::format("{} to {}", range.least, range.most);
}

}  // namespace

std::vector<std::string> differences(const RunRecord& a, const RunRecord& b) {
  std::vector<std::string> found;
  const auto look = [&found](std::string_view what, const auto& mine, const auto& other) {
    if (mine != other) found.push_back(fmt::format("{} {} and {}", what, mine, other));
  };
  const LoadOptions& mine = a.options;
  const LoadOptions& other = b.options;
  const auto loop = [](const LoadOptions& options) -> std::string_view {
    return options.closed_loop() ? "closed" : "open";
  };
  const auto layer = [](const LoadOptions& options) -> std::string_view {
    return options.layer_text.empty() ? "none" : std::string_view(options.layer_text);
  };
  look("experiments", a.experiment, b.experiment);
  look("targets", mine.target_text, other.target_text);
  look("requests", a.request, b.request);
  look("layers", layer(mine), layer(other));
  look("loops", loop(mine), loop(other));
  look("sizes", mine.size, other.size);
  look("pipelines", mine.pipeline, other.pipeline);
  look("requests a connection", range_text(mine.requests_per_connection), range_text(other.requests_per_connection));
  look("durations in seconds", in_seconds(mine.duration), in_seconds(other.duration));
  return found;
}

}  // namespace peal::load
