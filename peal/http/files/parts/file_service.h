// SPDX-License-Identifier: BSD-3-Clause
// FileService: the state that all copies of a StaticFiles share: the root folder, the options, and a FileCache for each
// loop that has served a file.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include <peal/http/files/parts/file_cache.h>
#include <peal/http/files/parts/root_folder.h>
#include <peal/http/files/static_files.h>
#include <peal/wire/content/http_precondition.h>

namespace peal::detail {

class FileService {
 public:
  FileService(RootFolder root, const StaticFilesOptions& options) : root_(std::move(root)), options_(options) {}
  ~FileService();
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  // Answers the request with the file at `path`. Runs on the exchange's loop; several loops may call it at the same
  // time.
  void serve(HttpExchange& exchange, std::string_view path);
  const StaticFilesOptions& options() const { return options_; }
  // The loop's own cache; created at the first call.
  FileCache& cache_of(Loop& loop);

 private:
  // An element of the list of caches. Any loop may add one at the front without a lock; elements are removed only by
  // the destructor.
  struct Shard {
    std::shared_ptr<FileCache> cache;
    Shard* next;
  };

  bool is_servable(std::string_view path) const;
  void answer_missing(HttpExchange& exchange, std::string_view path, std::error_code error);
  void answer_with(HttpExchange& exchange, FileCache& cache, ServedFile& file);
  void set_fields(HttpExchange& exchange, const ServedFile& file, ContentCoding coding);

  const RootFolder root_;
  const StaticFilesOptions options_;
  std::atomic<Shard*> shards_ = nullptr;
};

}  // namespace peal::detail
