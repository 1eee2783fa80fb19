// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/machine_files.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <peal/base/ascii.h>
#include <peal/wire/parse_text.h>

namespace peal::cli {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    text = trimmed(text);
    if (text.empty()) return words;
    const size_t size = std::min(text.find_first_of(" \t\r\n"), text.size());
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

bool has_word(std::span<const std::string_view> words, std::string_view wanted) {
  return std::ranges::find(words, wanted) != words.end();
}

std::optional<uint64_t> parse_number(std::string_view text) {
  if (text == "max" || text == "unlimited") return kUnlimited;
  return parse_text<uint64_t>(text);
}

std::optional<std::vector<uint32_t>> parse_list(std::string_view text) {
  constexpr uint64_t kMost = 65536;
  std::vector<uint32_t> numbers;
  text = trimmed(text);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t dash = part.find('-');
    const std::optional<uint64_t> first = parse_number(part.substr(0, dash));
    const std::optional<uint64_t> last = dash == part.npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMost) return std::nullopt;
    for (uint64_t i = *first; i <= *last; ++i) numbers.push_back(static_cast<uint32_t>(i));
  }
  return numbers;
}

std::optional<std::string> MachineFiles::text(std::string_view path) const {
  std::ifstream file(root_ + std::string(path));
  if (!file) return std::nullopt;
  std::string all{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return std::string(trimmed(all));
}

std::optional<uint64_t> MachineFiles::number(std::string_view path) const {
  const std::optional<std::string> all = text(path);
  if (!all) return std::nullopt;
  const auto words = words_of(*all);
  return words.empty() ? std::nullopt : parse_number(words.front());
}

std::optional<std::vector<uint32_t>> MachineFiles::list(std::string_view path) const {
  const std::optional<std::string> all = text(path);
  return all ? parse_list(*all) : std::nullopt;
}

bool MachineFiles::exists(std::string_view path) const {
  std::error_code ignored;
  return std::filesystem::exists(root_ + std::string(path), ignored);
}

std::vector<std::string> MachineFiles::names(std::string_view folder) const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_ + std::string(folder), error), end; !error && entry != end;
       entry.increment(error)) {
    found.push_back(entry->path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

std::optional<CpuTimes> MachineFiles::cpu_times() const {
  const std::optional<std::string> line = line_after("/proc/stat", "cpu ");
  if (!line) return std::nullopt;
  // The columns are: user nice system idle iowait irq softirq steal. The later columns hold the time of guests. They
  // are not added, because user and nice already contain that time.
  std::vector<uint64_t> ticks;
  for (std::string_view word : words_of(*line)) ticks.push_back(parse_number(word).value_or(0));
  if (ticks.size() < 8) return std::nullopt;
  return CpuTimes{
      .busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], .idle = ticks[3] + ticks[4], .stolen = ticks[7]};
}

std::optional<std::string> MachineFiles::line_after(std::string_view path, std::string_view key) const {
  std::ifstream file(root_ + std::string(path));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::string(trimmed(std::string_view(line).substr(key.size())));
  }
  return std::nullopt;
}

}  // namespace peal::cli
