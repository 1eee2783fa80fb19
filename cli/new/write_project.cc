// SPDX-License-Identifier: BSD-3-Clause
#include <cli/new/write_project.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <ranges>
#include <system_error>

#include <fmt/format.h>

#include <peal/base/fd.h>

namespace peal::cli {
namespace {

namespace fs = std::filesystem;

// What this call has written. Removes all of it in the destructor, unless keep() was called.
class Written {
 public:
  Written() = default;
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    std::error_code ignored;
    for (const fs::path& path : std::views::reverse(paths_)) fs::remove(path, ignored);
  }

  // Makes the folder and those above it that are missing.
  std::error_code make_folder(const fs::path& folder) {
    std::error_code error;
    if (folder.empty() || fs::is_directory(folder, error)) return {};
    if (const std::error_code above = make_folder(folder.parent_path())) return above;
    if (::mkdir(folder.c_str(), 0777) != 0) {
      const int why = errno == EEXIST ? ENOTDIR : errno;  // what exists here is no folder
      return {why, std::generic_category()};
    }
    paths_.push_back(folder);
    return {};
  }
  std::error_code write(const fs::path& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) return {errno, std::generic_category()};
    paths_.push_back(path);
    errno = 0;
    if (!write_whole(file.get(), text)) return {errno != 0 ? errno : EIO, std::generic_category()};
    return {};
  }
  void keep() { paths_.clear(); }

 private:
  std::vector<fs::path> paths_;
};

}  // namespace

std::string write_project(const std::string& folder, const std::vector<ProjectFile>& files) {
  std::error_code error;
  const fs::path place(folder);
  if (fs::exists(fs::symlink_status(place, error))) {
    const bool is_empty = fs::is_empty(place, error);
    if (error) return fmt::format("{} cannot be read: {}", folder, error.message());
    if (!fs::is_directory(place)) return fmt::format("{} is there already and is no folder", folder);
    if (!is_empty) return fmt::format("{} is there already and is not empty: choose another name", folder);
  }
  Written written;
  for (const ProjectFile& file : files) {
    const fs::path path = place / file.path;
    error = written.make_folder(path.parent_path());
    if (!error) error = written.write(path, file.text);
    if (error) return fmt::format("{} cannot be written: {}; nothing is left", path.string(), error.message());
  }
  written.keep();
  return {};
}

}  // namespace peal::cli
