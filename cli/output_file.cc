// SPDX-License-Identifier: BSD-3-Clause
#include <cli/output_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <cli/command.h>

namespace peal::cli {

OutputFile::~OutputFile() {
  if (is_new_ && !is_written_) ::unlink(path_.c_str());
}

std::string OutputFile::open(const std::string& path) {
  path_ = path;
  if (!is_wanted() || is_stdout()) return {};
  constexpr int kHow = O_WRONLY | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: open() does not wait for a FIFO's reader
  constexpr mode_t kMode = 0666;
  file_.reset(::open(path.c_str(), kHow | O_CREAT | O_EXCL, kMode));
  is_new_ = static_cast<bool>(file_);
  if (!file_ && errno == EEXIST) file_.reset(::open(path.c_str(), kHow | O_CREAT, kMode));
  if (!file_) {
    const char* const why = errno == ENXIO ? ": it is a FIFO that nobody reads, or a socket" : "";
    return fmt::format("{} cannot be written{}", path, why);
  }
  ::fcntl(file_.get(), F_SETFL, 0);  // clears O_NONBLOCK, so that write() waits for a slow reader
  return {};
}

bool OutputFile::write(std::string_view text) {
  if (!is_wanted()) return true;
  if (is_stdout()) return say(stdout, text);
  struct stat facts{};
  if (!is_written_ && ::fstat(file_.get(), &facts) == 0 && S_ISREG(facts.st_mode)) {
    if (::ftruncate(file_.get(), 0) != 0) return false;
  }
  is_written_ = true;
  return write_whole(file_.get(), text);
}

std::string OutputFile::report(std::string_view what, std::string_view text, std::string_view json) {
  const bool said = say(report_place(), text);
  if (!write(json)) return fmt::format("{} could not be written to {}", what, path_);
  return said || is_stdout() ? std::string() : fmt::format("{} could not be written to stdout", what);
}

}  // namespace peal::cli
