// SPDX-License-Identifier: BSD-3-Clause
// Reads the files in tests/goldens/protobuf. tools/protobuf_goldens.py describes their format.
#pragma once

#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peal::test {

inline std::vector<std::vector<std::string>> golden_lines(const std::string& name, bool large) {
  std::ifstream file(PEAL_SOURCE_DIR "/tests/goldens/protobuf/" + name);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("large") != large) continue;
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '\t');) fields.push_back(field);
    lines.push_back(std::move(fields));
  }
  return lines;
}

inline std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

// Returns the payload of a large frame in the golden files. The payload is `bytes` bytes long.
inline std::string golden_pattern(size_t bytes) {
  std::string pattern(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<char>(31 * i + i / 256);
  return pattern;
}

inline std::string golden_crc32(std::string_view bytes) {
  return std::to_string(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace peal::test
