// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/files/parts/file_cache.h>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/base/memory/buffer.h>
#include <peal/http/parts/encoder_pool.h>
#include <peal/wire/content/media_type.h>

namespace peal::detail {
namespace {

constexpr Duration kUnusedFileAge = std::chrono::seconds(10);
constexpr uint64_t kSmallestPacked = 1024;  // a smaller file fits into one packet anyway

constexpr int64_t kNsPerSecond = 1'000'000'000;
int64_t ns_of(const timespec& time) { return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec; }

// Returns true if a further write to a file would change its st_ctim, which is `changed_ns` now. Before Linux 6.13 the
// kernel takes st_ctim from CLOCK_REALTIME_COARSE, which advances every few milliseconds. A write before its next tick
// leaves st_ctim as it is. If st_ctim lies far ahead, the clock was set back, and every write changes it.
bool shows_further_writes(int64_t changed_ns) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return ns_of(now) > changed_ns || changed_ns > ns_of(now) + kNsPerSecond;
}

// Returns true if the open file has not been changed, truncated or deleted. Does not look whether its path now leads to
// another file.
bool is_unchanged(const FileVariant& variant) {
  struct stat status{};
  return ::fstat(variant.file->get(), &status) == 0 && status.st_nlink > 0 &&
         ns_of(status.st_ctim) == variant.changed_ns && static_cast<uint64_t>(status.st_size) == variant.bytes;
}

bool is_unchanged(const ServedFile& file) {
  for (const FileVariant& variant : file.variants) {
    if (variant.file != nullptr && !(variant.is_settled && is_unchanged(variant))) return false;
  }
  return true;
}

// The date for Last-Modified in Unix seconds. A modification time in the future is replaced by now (RFC 9110 8.8.2.1).
int64_t shown_date_of(const FileVariant& variant) {
  namespace ch = std::chrono;
  const auto now = ch::floor<ch::seconds>(ch::system_clock::now().time_since_epoch());
  return std::min(ch::floor<ch::seconds>(ch::nanoseconds(variant.modified_ns)), now).count();
}

bool is_out_of_fds(std::error_code error) {
  return error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system;
}

// The whole file; null if a read fails or returns fewer bytes.
SharedBytes read_whole(int fd, size_t bytes) {
  std::string content(bytes, '\0');
  if (::pread(fd, content.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return nullptr;
  return std::make_shared<const std::string>(std::move(content));
}

// Reuses the variants that were compressed here if the file has not changed since `before` was opened.
void keep_packed(ServedFile& file, std::array<FileVariant, kContentCodings>& before) {
  const FileVariant& plain = file.plain();
  const FileVariant& was = before[static_cast<size_t>(ContentCoding::kIdentity)];
  if (!was.is_settled || plain.inode != was.inode || plain.changed_ns != was.changed_ns) return;
  if (plain.bytes != was.bytes) return;
  if (plain.content != nullptr && was.content != nullptr && *plain.content != *was.content) return;
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    FileVariant& old = before[static_cast<size_t>(coding)];
    if (old.is_made_here() && !file.of(coding).exists()) file.of(coding) = std::move(old);
  }
}

std::string_view suffix_of(ContentCoding coding) { return coding == ContentCoding::kGzip ? ".gz" : ".zst"; }

}  // namespace

Result<ServedFile*> FileCache::find(std::string_view path) {
  const TimePoint now = loop_.now();
  Variants before;
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    const auto file = found->second;
    if (now - file->checked_at < options_.cache_validity && is_unchanged(*file)) {
      file->used_at = now;
      files_.splice(files_.end(), files_, file);
      return &*file;
    }
    before = std::move(file->variants);
    drop(file);
  }
  Result<ServedFile> opened = open(path);
  if (!opened && is_out_of_fds(opened.error()) && !files_.empty()) {
    while (!files_.empty()) drop(files_.begin());
    opened = open(path);
  }
  if (!opened) return std::unexpected(opened.error());
  keep_packed(*opened, before);
  opened->checked_at = opened->used_at = now;
  if (options_.cached_files == 0 || options_.cache_validity <= Duration::zero()) {
    uncached_ = std::move(*opened);
    return &uncached_;
  }
  if (files_.size() >= options_.cached_files) drop(files_.begin());
  files_.push_back(std::move(*opened));
  by_path_.emplace(files_.back().path, std::prev(files_.end()));
  if (!sweeps_) sweep();
  return &files_.back();
}

Result<ServedFile> FileCache::open(std::string_view path) const {
  ServedFile file;
  file.path = path;
  Result<FileVariant> plain = load(file.path);
  if (!plain) return std::unexpected(plain.error());
  file.modified = shown_date_of(*plain);
  file.last_modified = format_http_date(file.modified);
  file.of(ContentCoding::kIdentity) = std::move(*plain);
  file.media_type = media_type_of(file.path);
  if (file.media_type.empty()) file.media_type = options_.default_media_type;
  if (!is_compressible(file.media_type)) return file;
  if (options_.precompressed) load_siblings(file);
  file.is_packable = file.plain().bytes >= kSmallestPacked && file.plain().bytes <= options_.compressed_bytes;
  return file;
}

Result<FileVariant> FileCache::load(const std::string& path) const {
  Result<Fd> fd = root_.open_beneath(path);
  if (!fd) return std::unexpected(fd.error());
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return fail(errno);
  if (S_ISDIR(status.st_mode)) return fail(EISDIR);
  if (!S_ISREG(status.st_mode)) return fail(ENOENT);
  FileVariant variant;
  variant.bytes = static_cast<uint64_t>(status.st_size);
  variant.inode = status.st_ino;
  variant.changed_ns = ns_of(status.st_ctim);
  variant.modified_ns = ns_of(status.st_mtim);
  variant.is_settled = shows_further_writes(variant.changed_ns);
  // While a file is not settled, two contents of it may get the same tag. Such a tag is therefore weak. It also differs
  // from the tag that the settled file gets.
  variant.entity_tag =
      fmt::format("{}\"{:x}-{:x}-{:x}{}\"", variant.is_settled ? "" : "W/", variant.inode,
                  static_cast<uint64_t>(variant.changed_ns), variant.bytes, variant.is_settled ? "" : "-fresh");
  variant.file = std::make_shared<const Fd>(std::move(*fd));
  if (variant.bytes > 0 && variant.bytes <= options_.content_bytes) {
    variant.content = read_whole(variant.file->get(), variant.bytes);
    if (!is_unchanged(variant)) variant.content = nullptr;
  }
  return variant;
}

// Loads the compressed files beside `file`. A compressed file that is older is ignored: it was not updated with the
// original.
void FileCache::load_siblings(ServedFile& file) const {
  const int64_t modified_ns = file.plain().modified_ns;
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    Result<FileVariant> sibling = load(file.path + std::string(suffix_of(coding)));
    if (!sibling || sibling->modified_ns < modified_ns) continue;
    file.of(coding) = std::move(*sibling);
  }
}

// The tag of the result is weak, because the same file may be compressed to other bytes another time (RFC 9110 8.8.1).
ContentCoding FileCache::pack(ServedFile& file, ContentCoding coding) {
  if (file.of(coding).exists()) return coding;
  const FileVariant& plain = file.plain();
  if (!may_pack(plain.bytes, coding)) return ContentCoding::kIdentity;
  const SharedBytes content = plain.content != nullptr ? plain.content : read_whole(plain.file->get(), plain.bytes);
  if (content == nullptr || !is_unchanged(plain)) return ContentCoding::kIdentity;
  Buffer packed;
  const EncoderPool::PooledEncoder encoder = EncoderPool::of_this_thread().take(coding, {});
  encoder->begin(plain.bytes);
  encoder->encode(*content, ContentEncoder::Then::kEnd, packed);
  if (packed.size() >= plain.bytes) {
    file.is_packable = false;
    return ContentCoding::kIdentity;
  }
  FileVariant& made = file.of(coding);
  made.bytes = packed.size();
  made.content = share_bytes(packed.to_string());
  made.entity_tag = (plain.is_settled ? "W/" : "") + plain.entity_tag;
  return coding;
}

// Returns true if the allowance of this second is not used up. The file that crosses it is still compressed, even one
// that is larger than the whole allowance.
bool FileCache::may_pack(uint64_t bytes, ContentCoding coding) {
  const TimePoint now = loop_.now();
  if (now - second_begins_ >= std::chrono::seconds(1)) {
    second_begins_ = now;
    packed_bytes_ = 0;
  }
  if (packed_bytes_ >= options_.compressed_bytes_per_second) return false;
  packed_bytes_ += coding == ContentCoding::kZstd ? bytes / 4 : bytes;
  return true;
}

void FileCache::drop(Files::iterator file) {
  by_path_.erase(file->path);
  files_.erase(file);
}

// Closes files that were not used for kUnusedFileAge, and runs again after that time while there are files.
void FileCache::sweep() {
  while (!files_.empty() && loop_.now() - files_.front().used_at >= kUnusedFileAge) drop(files_.begin());
  sweeps_ = !files_.empty();
  if (!sweeps_) return;
  loop_.after(kUnusedFileAge, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
}

}  // namespace peal::detail
