// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/saved_file.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>

namespace peal {
namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string random_name() {
  std::array<uint64_t, 2> random{};
  const ssize_t got =
      ::getrandom(random.data(), sizeof random, 0);  // never fewer: it is at most 256 bytes (getrandom(2))
  PEAL_ASSERT(got == static_cast<ssize_t>(sizeof random), "getrandom: {} bytes", got);
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

std::string path_of(const Fd& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

}  // namespace

Result<SavedFile> SavedFile::create(const std::string& folder, bool unnamed) {
  Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail(errno);
  Fd file;
  if (unnamed) {
    file.reset(::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerOnly));
    if (!file && errno != EOPNOTSUPP && errno != EISDIR) return fail(errno);
    // Without /proc an unnamed file could never be given a name: linkat(2) needs its path there.
    if (file && ::access(path_of(file).c_str(), F_OK) != 0) file.reset();
  }
  std::string name;
  if (!file) {
    name = ".upload-" + random_name();
    file.reset(::openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  }
  if (!file) return fail(errno);
  return SavedFile(folder, std::move(directory), std::move(file), std::move(name));
}

SavedFile::SavedFile(SavedFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      directory_(std::move(other.directory_)),
      file_(std::move(other.file_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      bytes_(other.bytes_),
      synced_(other.synced_) {}

SavedFile& SavedFile::operator=(SavedFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  folder_ = std::move(other.folder_);
  directory_ = std::move(other.directory_);
  file_ = std::move(other.file_);
  temporary_name_ = std::exchange(other.temporary_name_, {});
  bytes_ = other.bytes_;
  synced_ = other.synced_;
  return *this;
}

void SavedFile::discard() {
  if (!temporary_name_.empty()) ::unlinkat(directory_.get(), temporary_name_.c_str(), 0);
  temporary_name_.clear();
}

Result<void> SavedFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errno);
    bytes.remove_prefix(static_cast<size_t>(written));
    bytes_ += static_cast<uint64_t>(written);
  }
  return {};
}

Result<void> SavedFile::sync() {
  if (::fsync(file_.get()) != 0) return fail(errno);
  synced_ = true;
  return {};
}

Result<std::string> SavedFile::keep_as(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos)
    throw_bad_value("a file cannot have this name of {} bytes: it is empty, '.', '..', or holds a slash or a zero byte",
                    name.size());
  const std::string plain(name);
  // linkat(2) and not rename(2): a link never replaces a file that has the name already, and not every file system has
  // RENAME_NOREPLACE.
  const bool unnamed = temporary_name_.empty();
  const int from = unnamed ? AT_FDCWD : directory_.get();
  const std::string name_now = unnamed ? path_of(file_) : temporary_name_;
  if (::linkat(from, name_now.c_str(), directory_.get(), plain.c_str(), unnamed ? AT_SYMLINK_FOLLOW : 0) != 0) {
    return fail(errno);
  }
  if (!unnamed) ::unlinkat(directory_.get(), temporary_name_.c_str(), 0);
  temporary_name_.clear();
  if (synced_ && ::fsync(directory_.get()) != 0) return fail(errno);
  return folder_ + "/" + plain;
}

Result<std::string> SavedFile::keep() { return keep_as(random_name()); }

}  // namespace peal
