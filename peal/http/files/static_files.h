// SPDX-License-Identifier: BSD-3-Clause
// StaticFiles: the files of one folder as answers to GET and HEAD.
//
//   auto files = peal::StaticFiles::open("/srv/www");
//   if (files) router.get("/{path*}", *files);
//
// Regular files beneath the folder, and nothing else: no path and no symbolic link leads out (openat2(2),
// RESOLVE_BENEATH), names that begin with a dot are not there, and nothing is listed. Each answer carries ETag,
// Last-Modified, Accept-Ranges and `X-Content-Type-Options: nosniff`; conditions and ranges (RFC 9110 13 and 14) are
// honoured, several ranges as multipart/byteranges. A folder is its index.html; without the slash at its end it
// redirects there. Where `style.css.zst` or `style.css.gz` stands beside `style.css`, is not older, and the client
// takes that coding, it is sent instead; where there is none, a small file whose type is worth it is packed at the
// first such request, and kept so. A file is recognised by its inode, its size and when it was last changed (st_ctim of
// stat(2), which no program can set), so one that is overwritten in place, its time put back, gets a new ETag. Two
// cases are left. For some 10 ms after a change a further write might not change st_ctim: during that time the ETag is
// weak and nothing is kept. A program that writes through a shared mapping (mmap(2)) may change st_ctim only with its
// first write, and later ones are not seen: write a new file and rename(2) it instead.
//
// A file's bytes go by sendfile(2) and are not held in memory, those of small files excepted. Opening a file, and
// sendfile itself, wait for the disk where the page cache has not what they need, and the loop with them, as nginx
// waits: for what is served often the cache has it, and threads would cost each request more than the disk saves.
// Where files lie on a slow or distant disk, run more loops.
//
// A file that is to change is written beside and renamed into place: who is being sent the old one gets all of it. One
// that is cut short while it is sent ends the connection, since its announced length cannot be kept.
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
  // The parameter of the route that names the file: of "/assets/{path*}" it is `path`.
  std::string parameter = "path";
  // What a folder shows; empty: folders are not found.
  std::string index = "index.html";
  // Serve also names that begin with a dot: .git and .env are seldom meant to be read. /.well-known/ (RFC 8615) is
  // always there.
  bool hidden = false;
  // Look for siblings with .zst and .gz, of files whose type is worth it.
  bool precompressed = true;
  // A file of at most this size without such a sibling is packed here; 0: none is. To pack 128 KiB takes 4 ms of the
  // loop's time in gzip and 1 ms in zstd. It is done once for as long as the file is in use and does not change.
  uint32_t compressed_bytes = 128 * 1024;
  // How many bytes of files each loop packs in a second. The default takes an eighth of the loop's time. A byte that
  // zstd packs counts as a quarter. A loop that has packed so many in this second sends further files as they are: a
  // site of more files than cached_files, asked for in turn, would occupy it with packing.
  uint64_t compressed_bytes_per_second = 4 * 1024 * 1024;
  // The value of Cache-Control; empty, the default: none, so that clients ask again as they see fit.
  std::string cache_control = {};
  // Of unknown extensions.
  std::string default_media_type = "application/octet-stream";
  // Kept open by each loop, up to three descriptors a file; 0: every request opens its own.
  size_t cached_files = 128;
  // For how long an open file may stand for its name, unless it shows that it has changed itself.
  Duration cache_validity = std::chrono::seconds(1);
  // Files up to this size are kept in memory while they are open: one system call sends head and body.
  uint32_t content_bytes = 16 * 1024;
};

// A handle: copies serve the same files and share what they keep. Used on any number of loops.
class StaticFiles {
 public:
  // ENOENT, ENOTDIR, EACCES: `root` is no folder one can enter. It stays the same folder when it is renamed.
  static Result<StaticFiles> open(const std::string& root, const StaticFilesOptions& options = {});

  // Answers a request for the file its route names.
  void operator()(HttpExchange& exchange) const;
  // Answers with the file at `path` beneath the root, decoded and without a slash in front: for handlers that choose.
  void serve(HttpExchange& exchange, std::string_view path) const;

 private:
  explicit StaticFiles(std::shared_ptr<detail::FileService> service) : service_(std::move(service)) {}

  std::shared_ptr<detail::FileService> service_;
};

}  // namespace peal
