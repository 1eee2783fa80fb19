// SPDX-License-Identifier: BSD-3-Clause
// HttpPartFile: what a download has so far, on disk, and a note beside it of what it is a part of. Blocks.
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
  // "path.part" is opened, or made, and locked: EBUSY if somebody else has it.
  static Result<HttpPartFile> open(const std::string& path);

  // What is there of `url`, which `validator()` tells from another version of it. 0: nothing of use.
  uint64_t find(const std::string& url);
  const std::string& validator() const { return validator_; }

  // From nothing. An empty validator: it can only be begun anew.
  Result<void> begin(const std::string& url, std::string validator);
  Result<void> write(uint64_t at, std::string_view bytes);
  // It has so many bytes and becomes `path`.
  Result<void> complete(uint64_t bytes, bool sync);
  // Another may have it.
  void close() { fd_.reset(); }

 private:
  HttpPartFile(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string part() const { return path_ + ".part"; }
  std::string meta() const { return path_ + ".part.meta"; }

  std::string path_;
  Fd fd_;
  std::string validator_;
};

// What says that two answers are of the same bytes, for If-Range (RFC 9110 8.8.1, 13.1.5): a strong ETag, or a
// Last-Modified at least a second before Date (8.8.2.2). Empty: nothing.
std::string strong_validator(const HttpResponseHead& head);

}  // namespace peal::detail
