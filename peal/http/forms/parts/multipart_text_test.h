// SPDX-License-Identifier: BSD-3-Clause
// Forms with files as a client writes them, with the boundary "B", and requests around them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace peal::test {

// One part; `what` stands behind the name: "; filename=x".
inline std::string multipart_part(std::string_view name, std::string_view data, std::string_view what = {}) {
  return fmt::format("--B\r\nContent-Disposition: form-data; name=\"{}\"{}\r\n\r\n{}\r\n", name, what, data);
}
inline std::string multipart_file(std::string_view name, std::string_view data) {
  return multipart_part(name, data, "; filename=\"../x.bin\"\r\nContent-Type: application/octet-stream");
}
inline constexpr std::string_view kMultipartEnd = "--B--\r\n";

inline std::string multipart_head(std::string_view path, size_t bytes) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n"
      "Content-Length: {}\r\n\r\n",
      path, bytes);
}
// A whole request, of parts made as above.
inline std::string multipart_post(std::string_view path, std::string_view parts) {
  return multipart_head(path, parts.size() + kMultipartEnd.size()) + std::string(parts) + std::string(kMultipartEnd);
}

}  // namespace peal::test
