// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/memory_option.h>

#include <string>

#include <fmt/format.h>

#include <cli/number_option.h>

namespace peal::cli {
namespace {

constexpr uint64_t kLeastMemoryBytes = uint64_t{1} << 20;  // with less, a few requests make the server stop reading
constexpr uint64_t kMostMemoryBytes = uint64_t{1} << 50;

// Turns the value of --memory, such as "256MiB", into a number of bytes, such as "268435456". Returns why the value is
// wrong, or an empty text.
std::string read_memory(std::string& text) {
  std::string wrong = fmt::format("it takes 0, or a size from 1MiB to 1PiB such as 256MiB, not '{}'", text);
  try {
    if (!CLI::AsSizeValue(false)(text).empty()) return wrong;
  } catch (const CLI::ValidationError&) {
    return wrong;
  }
  return text == "0" || read_number(text, kLeastMemoryBytes, kMostMemoryBytes) ? std::string() : wrong;
}

}  // namespace

void add_memory(CLI::App& command, uint64_t& place) {
  command
      .add_option("--memory", place,
                  "Memory for messages, such as 256MiB; above it, connections that hold some are not read, and every "
                  "5s the largest is closed; above twice as much, at once; 0: a quarter of the machine's memory")
      ->type_name("SIZE")
      ->capture_default_str()
      ->transform(CLI::Validator(read_memory, ""));
}

}  // namespace peal::cli
