// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/spin.h>

#include <cerrno>
#include <charconv>

namespace peal {

Result<Spin> Spin::parse(std::string_view text) {
  if (text == "off") return Spin{.mode = Mode::kOff};
  if (text == "auto") return Spin{.mode = Mode::kAuto};
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, text.data() + text.size());
  const Duration bound = count * Duration(unit == "ns" ? 1 : unit == "us" ? 1'000 : unit == "ms" ? 1'000'000 : 0);
  if (error != std::errc() || bound <= Duration::zero() || bound > kMaxSpin) return fail(EINVAL);
  return Spin{.mode = Mode::kBound, .bound = bound};
}

}  // namespace peal
