// SPDX-License-Identifier: BSD-3-Clause
// StaticFiles: answers GET and HEAD with the files of one folder.
//
//   auto files = peal::StaticFiles::open("/srv/www");
//   if (files) router.get("/{path*}", *files);
//
// Which files: regular files beneath the folder. No path and no symbolic link leads out of it (openat2(2),
// RESOLVE_BENEATH). Names that begin with a dot are answered 404. Folders are not listed. A request for a folder gets
// its index.html; if the path does not end with a slash, the client is redirected to the path that does.
//
// Which fields: each answer has ETag, Last-Modified, Accept-Ranges and `X-Content-Type-Options: nosniff`. Conditional
// requests and ranges (RFC 9110 13 and 14) are honoured; several ranges are sent as multipart/byteranges.
//
// Compression: if the client accepts the coding, `style.css.zst` or `style.css.gz` is sent instead of `style.css`. Such
// a file must lie beside the original and not be older. Without such a file, a small file of a compressible type is
// compressed at the first request that accepts it, and the result is kept in memory.
//
// Changes: a file is recognised by its inode, its size and st_ctim of stat(2), the time of its last change, which no
// program can set. So a file that is overwritten in place gets a new ETag, even if its modification time is put back.
// Two cases remain:
//   - For some 10 ms after a change, a further write might not change st_ctim. During that time the ETag is weak and
//     nothing is kept.
//   - A program that writes through a shared mapping (mmap(2)) may change st_ctim only with its first write. Its later
//     writes are not noticed. Write a new file and rename(2) it instead.
//
// Waiting: the bytes of a file go to the socket by sendfile(2) and are not held in memory, except those of small files.
// open(2) and sendfile(2) wait for the disk if the page cache does not have the data, and the loop waits with them, as
// in nginx. Files that are asked for often are in the page cache; handing each request to another thread would cost
// more than such waits. If the files lie on a slow or remote disk, run more loops.
//
// To replace a file, write the new one beside it and rename(2) it into place: answers that have begun still send the
// old file whole. If a file is truncated while it is sent, its connection is closed, because the Content-Length that
// was sent cannot be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

namespace detail {
class FileService;
}  // namespace detail

struct StaticFilesOptions {
  // The parameter of the route that holds the path of the file. For the route "/assets/{path*}" it is `path`.
  std::string parameter = "path";
  // The file that is sent for a folder. If empty, folders are answered 404.
  std::string index = "index.html";
  // True if files and folders whose names begin with a dot are served too. The default protects .git, .env and their
  // like. /.well-known/ (RFC 8615) is always served.
  bool hidden = false;
  // True if the files `NAME.zst` and `NAME.gz` beside a compressible file NAME are used. NAME itself must exist.
  bool precompressed = true;
  // The largest file that is compressed here if no compressed file lies beside it; 0 turns that off. To compress 128
  // KiB takes 4 ms of the loop's time with gzip and 1 ms with zstd. The result is kept as long as the file is cached
  // and does not change.
  uint32_t compressed_bytes = 128 * 1024;
  // How many bytes each loop compresses in a second; beyond that it sends files uncompressed. The limit matters if a
  // site has more files than `cached_files` and clients ask for them in turn: the loop would do little else than
  // compress. The default takes an eighth of a loop's time. A byte that zstd compresses counts as a quarter.
  uint64_t compressed_bytes_per_second = 4 * 1024 * 1024;
  // The value of Cache-Control. If empty, the field is not sent, and clients decide themselves when to ask again.
  std::string cache_control = {};
  // The media type of files whose extension is unknown.
  std::string default_media_type = "application/octet-stream";
  // How many files each loop keeps open, with up to three descriptors each. 0 opens the file for each request.
  size_t cached_files = 128;
  // How long a loop may use an open file before it opens the path again. Until then it does not notice a renamed folder
  // or a new compressed file. Changes of the file itself are noticed at once.
  Duration cache_validity = std::chrono::seconds(1);
  // Files up to this size are kept in memory while they are open, so that one system call sends head and body.
  uint32_t content_bytes = 16 * 1024;
};

// A handle. Its copies serve the same files and share the open files and the compressed ones. Any number of loops may
// use it at the same time.
class StaticFiles {
 public:
  // Opens the folder `root`. Fails with the errno value of open(2), such as ENOENT, ENOTDIR or EACCES. If the folder is
  // renamed later, its files are still served.
  static Result<StaticFiles> open(const std::string& root, const StaticFilesOptions& options = {});

  // Answers a request with the file that the route's parameter names. This makes the object a handler of a router.
  void operator()(HttpExchange& exchange) const;
  // Answers with the file at `path`, for handlers that choose the file themselves. `path` is relative to the root, not
  // percent-encoded and without a leading slash.
  void serve(HttpExchange& exchange, std::string_view path) const;

 private:
  explicit StaticFiles(std::shared_ptr<detail::FileService> service) : service_(std::move(service)) {}

  std::shared_ptr<detail::FileService> service_;
};

}  // namespace peal
