// SPDX-License-Identifier: BSD-3-Clause
// TemporaryFolder: a folder that is deleted with the object. Its functions write and read files in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace peal::test {

// Returns the bytes of the file, or an empty string if the file does not exist.
inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "peal-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file under another name and then renames it to `name`, as programs that renew certificates do. Returns the
  // path of the renamed file.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path("new"), std::ios::binary) << bytes;
    std::filesystem::rename(path("new"), path(name));
    return path(name);
  }
  std::string read(std::string_view name) const { return read_file(path(name)); }
  void remove(std::string_view name) const { std::filesystem::remove(path(name)); }

 private:
  std::string path_;
};

}  // namespace peal::test
