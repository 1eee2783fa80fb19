// SPDX-License-Identifier: BSD-3-Clause
// SavedFile: an uploaded file on the disk that has no name until keep() or keep_as(). A file that is not kept is
// deleted when this object is destroyed.
//
// Most file systems (not NFS) have O_TMPFILE, see open(2): there a file that is not kept also vanishes when the process
// is killed. On the others the file has a temporary name in its folder, ".upload-" and 32 hexadecimal digits; it stays
// there if the process is killed.
//
// The file's mode is 0600: only the user of this process may read and write it. The object holds two descriptors, can
// be moved and not copied. Its calls block until the disk has answered. Any thread may use it, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal {

class SavedFile {
 public:
  // Creates an empty file in `folder`, which must exist. Fails with the errno value of open(2). `unnamed = false` gives
  // the file a temporary name from the start, as on a file system without O_TMPFILE; tests use it.
  static Result<SavedFile> create(const std::string& folder, bool unnamed = true);
  SavedFile(SavedFile&& other) noexcept;
  SavedFile& operator=(SavedFile&& other) noexcept;
  ~SavedFile() { discard(); }

  // Writes at the end of the file. Fails with the errno value of write(2); a part may have been written then.
  Result<void> append(std::string_view bytes);
  // Waits until all bytes are on the disk and not only in the kernel's memory (fsync(2)). keep() and keep_as() then
  // wait until the name is on the disk too.
  Result<void> sync();
  // Bytes appended so far.
  uint64_t bytes() const { return bytes_; }
  // Open for reading and writing, positioned at the end. The object owns the descriptor: do not close it.
  int fd() const { return file_.get(); }

  // Gives the file this name in its folder, and returns its path. From then on the file stays. EEXIST if the name is
  // taken: nothing has changed then. A name that is empty, "." or "..", or that holds a slash or a zero byte, throws
  // std::invalid_argument. safe_file_name() makes a safe name of one that a client sent.
  Result<std::string> keep_as(std::string_view name);
  // Like keep_as(), with a random name of 32 hexadecimal digits that cannot be guessed.
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
  std::string temporary_name_;  // empty if the file is unnamed or kept
  uint64_t bytes_ = 0;
  bool synced_ = false;
};

}  // namespace peal
