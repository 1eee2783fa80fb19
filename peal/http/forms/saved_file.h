// SPDX-License-Identifier: BSD-3-Clause
// SavedFile: a file that came with a form and is on the disk, without a name until somebody keeps it. One that nobody
// keeps is gone with this object, and where the file system has O_TMPFILE (all usual ones; not NFS) also when the
// process is killed; elsewhere it lies in its folder as ".upload-" and 32 digits meanwhile.
//
// Only its owner may read and write it (0600). Two descriptors; moved, never copied; calls wait for the disk. Any
// thread, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal {

class SavedFile {
 public:
  // An empty one in `folder`, which exists; the world's error where it cannot be. Not `unnamed`: as on a file system
  // without O_TMPFILE.
  static Result<SavedFile> create(const std::string& folder, bool unnamed = true);
  SavedFile(SavedFile&& other) noexcept;
  SavedFile& operator=(SavedFile&& other) noexcept;
  ~SavedFile() { discard(); }

  // Behind what is there.
  Result<void> append(std::string_view bytes);
  // All of it is on the disk, not in the kernel's memory alone; so is the name when it is kept.
  Result<void> sync();
  uint64_t bytes() const { return bytes_; }
  // Open for reading and writing, at its end; this object's.
  int fd() const { return file_.get(); }

  // Gives it a name in its folder; from then on it stays. Answers the path. EEXIST where the name is taken, and nothing
  // has changed. std::invalid_argument for a name with a slash in it, "." and "..", and an empty one: safe_file_name()
  // makes one of a client's.
  Result<std::string> keep_as(std::string_view name);
  // The same by a name that nobody has or can guess: 32 hexadecimal digits.
  Result<std::string> keep();

 private:
  SavedFile(std::string folder, Fd directory, Fd file, std::string temporary_name)
      : folder_(std::move(folder)),
        directory_(std::move(directory)),
        file_(std::move(file)),
        temporary_name_(std::move(temporary_name)) {}
  void discard();

  std::string folder_;
  Fd directory_;
  Fd file_;
  std::string temporary_name_;  // empty where it has none, and once it is kept
  uint64_t bytes_ = 0;
  bool synced_ = false;
};

}  // namespace peal
