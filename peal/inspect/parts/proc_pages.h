// SPDX-License-Identifier: BSD-3-Clause
// The text pages under /proc and /sys. Their paths are those of the inspectors of earlier libraries such as muduo.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace peal::detail {

// A page of the inspector: its path, a short description, and the function that makes its text.
struct ProcPage {
  std::string_view path;
  std::string_view what;
  std::string (*text)();
};

std::span<const ProcPage> proc_pages();

}  // namespace peal::detail
