// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_part_file.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include <peal/base/read_whole.h>
#include <peal/wire/content/entity_tag.h>
#include <peal/wire/content/http_date.h>

namespace peal::detail {
namespace {

constexpr std::string_view kMagic = "peal download 1\n";
constexpr size_t kMostMetaBytes = 64 * 1024;

Result<void> failed_here() { return fail(errno); }

Result<void> write_all(int fd, uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed_here();
    at += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return failed_here();
  return {};
}

}  // namespace

Result<HttpPartFile> HttpPartFile::open(const std::string& path) {
  HttpPartFile file(path, {});
  // O_NOFOLLOW and O_NONBLOCK: if a symbolic link, a pipe or a device has this name, open() neither follows nor blocks.
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  file.fd_.reset(::open(file.part().c_str(), kFlags, 0666));
  if (!file.fd_) return fail(errno);
  if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0) return fail(errno == EWOULDBLOCK ? EBUSY : errno);
  struct stat here;
  struct stat named;
  if (::fstat(file.fd_.get(), &here) != 0) return fail(errno);
  if (!S_ISREG(here.st_mode)) return fail(EEXIST);
  // Between open() and flock() another process may have completed the download and renamed the file. The opened file is
  // then not the ".part" file any more.
  if (::stat(file.part().c_str(), &named) != 0 || named.st_ino != here.st_ino || named.st_dev != here.st_dev) {
    return fail(EBUSY);
  }
  return file;
}

uint64_t HttpPartFile::find(const std::string& url) {
  validator_.clear();
  struct stat here;
  if (::fstat(fd_.get(), &here) != 0 || here.st_size <= 0) return 0;
  const Fd note(::open(meta().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const std::string text = note ? read_whole(note.get(), kMostMetaBytes).value_or("") : "";
  const std::string expected = std::string(kMagic) + url + "\n";
  if (!text.starts_with(expected) || !text.ends_with('\n') || text.size() < expected.size() + 2) return 0;
  validator_ = text.substr(expected.size(), text.size() - expected.size() - 1);
  if (!validator_.contains('\n')) return static_cast<uint64_t>(here.st_size);
  validator_.clear();
  return 0;
}

Result<void> HttpPartFile::begin(const std::string& url, std::string validator) {
  if (::ftruncate(fd_.get(), 0) != 0) return failed_here();
  validator_ = std::move(validator);
  ::unlink(meta().c_str());
  if (validator_.empty()) return {};
  const Fd note(::open(meta().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!note) return failed_here();
  return write_all(note.get(), 0, std::string(kMagic) + url + "\n" + validator_ + "\n");
}

Result<void> HttpPartFile::write(uint64_t at, std::string_view bytes) { return write_all(fd_.get(), at, bytes); }

Result<void> HttpPartFile::complete(uint64_t bytes, bool sync) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) return failed_here();
  if (sync && ::fsync(fd_.get()) != 0) return failed_here();
  if (::rename(part().c_str(), path_.c_str()) != 0) return failed_here();
  ::unlink(meta().c_str());
  return sync ? sync_folder_of(path_) : Result<void>();
}

std::string strong_validator(const HttpResponseHead& head) {
  if (const auto text = head.find("ETag")) {
    const auto tag = parse_entity_tag(*text);
    return tag && !tag->weak ? std::string(tag->opaque) : std::string();
  }
  const auto modified_text = head.find("Last-Modified");
  const auto date_text = head.find("Date");
  if (!modified_text || !date_text) return {};
  const auto date = parse_http_date(*date_text, 0);
  const auto modified = parse_http_date(*modified_text, date.value_or(0));
  return date && modified && *modified < *date ? std::string(*modified_text) : std::string();
}

}  // namespace peal::detail
