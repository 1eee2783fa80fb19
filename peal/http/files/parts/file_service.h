// SPDX-License-Identifier: BSD-3-Clause
// FileService: what the copies of a StaticFiles share: the root, the options, and for each loop that has asked a
// FileCache of its own.
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

  // On the exchange's loop; any number of loops at once.
  void serve(HttpExchange& exchange, std::string_view path);
  const StaticFilesOptions& options() const { return options_; }
  FileCache& cache_of(Loop& loop);

 private:
  // Only ever added in front, by any loop, until the end.
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
