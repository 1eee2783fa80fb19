// SPDX-License-Identifier: BSD-3-Clause
// HttpPartFile: the file "path.part" with the bytes that a download has so far, and "path.part.meta", which notes the
// URL and the version they belong to. Every call blocks while the disk works. A value with one owner, the download.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/wire/http/http_response_head.h>

namespace peal::detail {

class HttpPartFile {
 public:
  // Opens or creates "path.part" and locks it. Fails with EBUSY if another process has the lock, with EEXIST if
  // "path.part" is no regular file, and with the errno of open(2).
  static Result<HttpPartFile> open(const std::string& path);

  // Returns how many bytes of `url` the ".part" file has, and sets validator() to their version. Returns 0 if the file
  // is empty, belongs to another URL, or has no valid ".part.meta" file.
  uint64_t find(const std::string& url);
  // Returns the strong_validator() of the answer with which the ".part" file was begun. Empty if find() returned 0.
  const std::string& validator() const { return validator_; }

  // Empties the ".part" file and writes a new ".part.meta" file. If `validator` is empty, no ".part.meta" file is
  // written, and a later attempt cannot continue the download.
  Result<void> begin(const std::string& url, std::string validator);
  // Writes `bytes` to the ".part" file at the offset `at`.
  Result<void> write(uint64_t at, std::string_view bytes);
  // Truncates the ".part" file to `bytes` bytes, renames it to `path` and removes the ".part.meta" file. If `sync` is
  // true, the bytes and the new name are on the disk when this returns (fsync of the file and of its folder).
  Result<void> complete(uint64_t bytes, bool sync);
  // Closes the ".part" file, which releases its lock.
  void close() { fd_.reset(); }

 private:
  HttpPartFile(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string part() const { return path_ + ".part"; }
  std::string meta() const { return path_ + ".part.meta"; }

  std::string path_;
  Fd fd_;
  std::string validator_;
};

// Returns the field value that differs between two versions of the same content, for If-Range (RFC 9110 8.8.1, 13.1.5).
// This is a strong ETag, or a Last-Modified at least a second before Date (8.8.2.2). Empty if the head has neither.
std::string strong_validator(const HttpResponseHead& head);

}  // namespace peal::detail
