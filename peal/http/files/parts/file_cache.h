// SPDX-License-Identifier: BSD-3-Clause
// FileCache: the files that one loop serves. Keeps each file open, together with its ETag, date and media type, so that
// a file that is asked for often is not opened and described each time. Used on its loop's thread only.
//
// Each use costs one fstat(2). It shows that the file was changed, truncated or removed, or that its name now belongs
// to another file. A folder that was renamed, or a compressed file that was added, is noticed after
// StaticFilesOptions::cache_validity at the latest.
//
// The cache holds at most StaticFilesOptions::cached_files files. A file that nobody asks for is closed after 10 to 20
// seconds.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/memory/block_pool.h>
#include <peal/base/result.h>
#include <peal/http/files/parts/root_folder.h>
#include <peal/http/files/static_files.h>
#include <peal/loop/loop.h>
#include <peal/wire/content/content_coding.h>
#include <peal/wire/content/http_date.h>

namespace peal::detail {

// A file in one content coding: the plain file, a compressed file beside it, or bytes that were compressed here.
struct FileVariant {
  std::shared_ptr<const Fd> file;  // null if the bytes were compressed here, or if the variant does not exist
  uint64_t bytes = 0;
  SharedBytes content;     // the bytes of a small file or of one compressed here; otherwise null
  std::string entity_tag;  // with its quotes
  // Inode and st_ctim identify the content, together with the size. Every write sets st_ctim, and no program can set it
  // to a time of its choice. st_mtim would not do: programs set it (utimensat(2), rsync --times).
  uint64_t inode = 0;
  int64_t changed_ns = 0;
  int64_t modified_ns = 0;  // st_mtim, from which Last-Modified is made
  // True if a further write to the file is certain to change its st_ctim.
  bool is_settled = true;

  bool exists() const { return file != nullptr || content != nullptr; }
  bool is_made_here() const { return file == nullptr && content != nullptr; }
};

struct ServedFile {
  std::string path;
  std::string_view media_type;
  int64_t modified = 0;  // Unix seconds
  std::array<char, kHttpDateBytes> last_modified;
  std::array<FileVariant, kContentCodings> variants;  // the one of identity always exists
  bool is_packable = false;                           // missing variants can be made by FileCache::pack()
  TimePoint checked_at;
  TimePoint used_at;

  bool has(ContentCoding coding) const { return is_packable || of(coding).exists(); }
  const FileVariant& of(ContentCoding coding) const { return variants[static_cast<size_t>(coding)]; }
  FileVariant& of(ContentCoding coding) { return variants[static_cast<size_t>(coding)]; }
  const FileVariant& plain() const { return of(ContentCoding::kIdentity); }
  bool has_codings() const { return has(ContentCoding::kGzip) || has(ContentCoding::kZstd); }
};

class FileCache : public std::enable_shared_from_this<FileCache> {
 public:
  FileCache(Loop& loop, const RootFolder& root, const StaticFilesOptions& options)
      : loop_(loop), root_(root), options_(options) {}

  // Returns the regular file at `path` beneath the root; valid until the next call. Fails with RootFolder's errors,
  // with EISDIR for a folder, and with ENOENT for anything else that is no regular file. May wait for the disk.
  Result<ServedFile*> find(std::string_view path);
  // Compresses the file unless that variant exists already, and returns the coding to send. That is `coding`; or
  // identity if the result would not be smaller, the file cannot be read whole, or compressed_bytes_per_second is used
  // up.
  ContentCoding pack(ServedFile& file, ContentCoding coding);
  Loop& loop() const { return loop_; }
  size_t size() const { return files_.size(); }

 private:
  using Files = std::list<ServedFile>;
  using Variants = std::array<FileVariant, kContentCodings>;

  Result<ServedFile> open(std::string_view path) const;
  Result<FileVariant> load(const std::string& path) const;
  void load_siblings(ServedFile& file) const;
  bool may_pack(uint64_t bytes, ContentCoding coding);
  void drop(Files::iterator file);
  void sweep();

  Loop& loop_;
  const RootFolder& root_;
  const StaticFilesOptions& options_;
  Files files_;                                                    // the least recently used is at the front
  std::unordered_map<std::string_view, Files::iterator> by_path_;  // keys are views into ServedFile::path
  ServedFile uncached_;      // the last file found, if the options forbid to keep any
  TimePoint second_begins_;  // start of the second that packed_bytes_ counts
  uint64_t packed_bytes_ = 0;
  bool sweeps_ = false;
};

}  // namespace peal::detail
