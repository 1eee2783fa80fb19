// SPDX-License-Identifier: BSD-3-Clause
// The text pages under /proc and /sys, by the paths that inspectors of this family have always had.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace peal::detail {

struct ProcPage {
  std::string_view path;
  std::string_view what;
  std::string (*text)();
};

std::span<const ProcPage> proc_pages();

}  // namespace peal::detail
