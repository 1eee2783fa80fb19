// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/parts/metric_names.h>

#include <algorithm>

#include <peal/base/bad_value.h>
#include <peal/base/printable.h>

namespace peal::detail {
namespace {

constexpr size_t kMostNameBytes = 128;
constexpr size_t kMostLabelBytes = 128;  // of a label's value
constexpr size_t kMostHelpBytes = 1'024;
constexpr size_t kMostMetricLabels = 16;
constexpr std::string_view kTotal = "_total";

// Returns whether `name` has only ASCII letters, digits, "_" and the characters of `more`, and does not begin with a
// digit.
bool is_metric_word(std::string_view name, std::string_view more) {
  const auto in = [](char c, char first, char last) { return first <= c && c <= last; };
  if (name.empty() || name.size() > kMostNameBytes || in(name.front(), '0', '9')) return false;
  return std::ranges::all_of(name, [&](char c) {
    return in(c, 'a', 'z') || in(c, 'A', 'Z') || in(c, '0', '9') || c == '_' || more.contains(c);
  });
}

// Returns the first characters of `text`, as many as fit into `most` bytes. Each byte that is not UTF-8 is
// replaced by "?": a scraper would refuse the whole text because of it.
std::string shown_text(std::string_view text, size_t most) {
  std::string shown;
  while (!text.empty()) {
    const TextCharacter first = first_character(text);
    if (shown.size() + first.bytes > most) break;
    if (first.code == kNoCharacter) {
      shown += '?';
    } else {
      shown += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes);
  }
  return shown;
}

}  // namespace

std::string checked_metric_name(MetricForm form, std::string_view name) {
  std::string_view family = name;
  if (form == MetricForm::kCounter && family.ends_with(kTotal)) family.remove_suffix(kTotal.size());
  if (!is_metric_word(family, ":")) {
    throw_bad_value("\"{}\" is not the name of a metric: it must match [a-zA-Z_:][a-zA-Z0-9_:]*, in at most {} bytes",
                    printable(name.substr(0, 2 * kMostNameBytes)), kMostNameBytes);
  }
  for (const std::string_view taken : {"peal_", "process_"}) {
    if (name.starts_with(taken)) {
      throw_bad_value("the metric \"{}\" needs another name: only the inspector's own begin with \"{}\"", name, taken);
    }
  }
  const bool in_seconds = unit_of_metric(family) == "seconds";
  if (form == MetricForm::kTimes && !in_seconds) {
    throw_bad_value("the name of a TimeHistogram must end with \"_seconds\", not \"{}\"", name);
  }
  if (form == MetricForm::kValues && in_seconds) {
    throw_bad_value("\"{}\" is the name of a TimeHistogram: a ValueHistogram does not count seconds", name);
  }
  return std::string(family);
}

MetricLabels checked_metric_labels(std::string_view metric, MetricLabels labels) {
  if (labels.size() > kMostMetricLabels) {
    throw_bad_value("the metric \"{}\" has {} labels; the most are {}", metric, labels.size(), kMostMetricLabels);
  }
  for (auto& [name, value] : labels) {
    if (!is_metric_word(name, "") || name.starts_with("__") || name == "le") {
      throw_bad_value(
          "the metric \"{}\" cannot have a label \"{}\": the name must match [a-zA-Z_][a-zA-Z0-9_]*, not begin with "
          "\"__\", and not be \"le\"",
          metric, printable(std::string_view(name).substr(0, 2 * kMostNameBytes)));
    }
    value = shown_text(value, kMostLabelBytes);
  }
  std::ranges::sort(labels);
  const auto twice = std::ranges::adjacent_find(labels, {}, &MetricLabels::value_type::first);
  if (twice != labels.end()) throw_bad_value("the metric \"{}\" has the label \"{}\" twice", metric, twice->first);
  return labels;
}

std::string checked_metric_help(std::string_view metric, std::string_view help) {
  if (help.size() > kMostHelpBytes) {
    throw_bad_value("the help text of the metric \"{}\" has {} bytes; the most are {}", metric, help.size(),
                    kMostHelpBytes);
  }
  return shown_text(help, kMostHelpBytes);
}

std::vector<std::string> sample_names(MetricForm form, std::string_view family) {
  const std::string name(family);
  switch (form) {
    case MetricForm::kCounter: return {name, name + std::string(kTotal), name + "_created"};
    case MetricForm::kGauge: return {name};
    case MetricForm::kTimes:
    case MetricForm::kValues: return {name, name + "_bucket", name + "_sum", name + "_count", name + "_created"};
  }
  return {name};
}

std::string_view unit_of_metric(std::string_view family) {
  for (const std::string_view unit : {"seconds", "bytes"}) {
    std::string_view rest = family;
    if (!rest.ends_with(unit)) continue;
    rest.remove_suffix(unit.size());
    if (rest.ends_with('_')) return unit;
  }
  return {};
}

}  // namespace peal::detail
