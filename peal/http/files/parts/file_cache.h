// SPDX-License-Identifier: BSD-3-Clause
// FileCache: the files that one loop serves, open and described, so that a file asked for often is not opened, and what
// its answer says of it not written anew, each time.
//
// What it says is checked: a file that was changed, cut, removed or replaced by another of its name is seen by the
// fstat(2) that each use costs; a folder that was exchanged, or a sibling that was added, within `validity`. Bounded in
// files and in time: what was not asked for in ten seconds is closed. On its loop's thread.
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

// The bytes of a file in one coding.
struct FileVariant {
  std::shared_ptr<const Fd> file;  // null: made here, or there is no such variant
  uint64_t bytes = 0;
  SharedBytes content;     // of a small file, and of what was made here; else null
  std::string entity_tag;  // with its quotes
  // What the file is recognised by, beside its size. st_ctim is set by every write and by no program, st_mtim by
  // whoever wants to (utimensat(2), rsync --times).
  uint64_t inode = 0;
  int64_t changed_ns = 0;
  int64_t modified_ns = 0;  // what clients are told
  // A further write to the file would change its st_ctim.
  bool is_settled = true;

  bool exists() const { return file != nullptr || content != nullptr; }
  bool is_made_here() const { return file == nullptr && content != nullptr; }
};

struct ServedFile {
  std::string path;
  std::string_view media_type;
  int64_t modified = 0;  // Unix seconds
  std::array<char, kHttpDateBytes> last_modified;
  std::array<FileVariant, kContentCodings> variants;  // identity is there
  bool is_packable = false;                           // those that are not there can be made
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

  // The regular file at `path` beneath the root; good until the next call. RootFolder's errors; EISDIR for a folder,
  // ENOENT for what else is no regular file. Opening may read a folder from the disk.
  Result<ServedFile*> find(std::string_view path);
  // Makes the variant of a file that has it, where that is not there yet. Returns which one to send: identity where
  // nothing was to be gained, or enough was packed in this second.
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
  Files files_;                                                    // the least recently used first
  std::unordered_map<std::string_view, Files::iterator> by_path_;  // keys point into the files' own paths
  ServedFile uncached_;                                            // where nothing is to be kept
  TimePoint second_begins_;                                        // in which packed_bytes_ were packed
  uint64_t packed_bytes_ = 0;
  bool sweeps_ = false;
};

}  // namespace peal::detail
