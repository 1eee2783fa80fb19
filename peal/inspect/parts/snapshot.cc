// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/snapshot.h>

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <array>
#include <charconv>
#include <thread>

#include <fmt/format.h>

namespace peal::detail {

std::optional<ConnectionName> ConnectionName::parse(std::string_view text) {
  std::array<uint64_t, 4> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) {
      if (at == end || *at != '.') return std::nullopt;
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, numbers.at(i));
    if (error != std::errc() || numbers.at(i) > UINT32_MAX) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return ConnectionName{.server = numbers[0],
                        .part = numbers[1],
                        .slot = static_cast<uint32_t>(numbers[2]),
                        .generation = static_cast<uint32_t>(numbers[3])};
}

std::string ConnectionName::to_string() const { return fmt::format("{}.{}.{}.{}", server, part, slot, generation); }

// The result is in seconds, because a certificate may be valid for longer than 64 bits of nanoseconds can express.
std::optional<std::chrono::seconds> certificate_left(const LayerStats& layer,
                                                     std::chrono::system_clock::time_point now) {
  if (layer.valid_until == std::chrono::sys_seconds()) return std::nullopt;
  return layer.valid_until - std::chrono::floor<std::chrono::seconds>(now);
}

SystemFacts read_system_facts() {
  SystemFacts facts{.processors = std::thread::hardware_concurrency()};
  utsname name{};
  if (::uname(&name) == 0) {
    facts.host = name.nodename;
    facts.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  }
  struct ::sysinfo info{};
  if (::sysinfo(&info) == 0) {
    constexpr double kLoadUnit = 1 << SI_LOAD_SHIFT;
    for (size_t i = 0; i < facts.load.size(); ++i) facts.load.at(i) = static_cast<double>(info.loads[i]) / kLoadUnit;
    facts.memory_bytes = uint64_t{info.totalram} * info.mem_unit;
    facts.up = std::chrono::seconds(info.uptime);
  }
  // sysinfo(2) reports only the free memory. MemAvailable also counts caches that the kernel would give back.
  const std::string memory = read_small_file("/proc/meminfo").value_or(std::string());
  constexpr std::string_view kAvailable = "MemAvailable:";
  if (const size_t at = memory.find(kAvailable); at != memory.npos) {
    const size_t digits = std::min(memory.find_first_not_of(' ', at + kAvailable.size()), memory.size());
    std::from_chars(memory.data() + digits, memory.data() + memory.size(), facts.available_bytes);
    facts.available_bytes *= 1024;
  }
  return facts;
}

}  // namespace peal::detail
