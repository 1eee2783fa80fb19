// SPDX-License-Identifier: BSD-3-Clause
// The message is formatted on the stack and written with write(2), so no memory is allocated, no lock is taken and no
// text is lost in a buffer at abort().
#include <peal/base/assert.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace peal::detail {

void assert_failed(const char* file, int line, const char* condition, fmt::string_view format,
                   fmt::format_args arguments) {
  std::array<char, 2048> text;
  auto end =
      fmt::format_to_n(text.begin(), text.size() - 2, "{}:{}: assertion failed: {}: ", file, line, condition).out;
  end = fmt::vformat_to_n(end, static_cast<std::size_t>(text.end() - end) - 1, format, arguments).out;
  // The text may contain values that came from a peer. Control characters are replaced, so that such a value can
  // neither start a new line nor control the terminal.
  std::replace_if(text.begin(), end, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; }, '?');
  *end++ = '\n';
  for (auto from = text.begin(); from < end;) {
    auto written = ::write(STDERR_FILENO, &*from, static_cast<std::size_t>(end - from));
    if (written <= 0) break;
    from += written;
  }
  std::abort();
}

}  // namespace peal::detail
