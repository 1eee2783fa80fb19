// SPDX-License-Identifier: BSD-3-Clause
// OutputFile: the file that a command writes its results to, or stdout. Open it before the work begins. A path that
// cannot be written is then noticed before a long run, not after it. The output stays open from then on, so the reader
// of a FIFO sees no end of the file before the results are written.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <peal/base/fd.h>

namespace peal::cli {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes the file if open() created it and write() was never called.
  ~OutputFile();

  // Opens the output. Call open() once. The path "-" means stdout. An empty path means that no output is wanted. An
  // existing file keeps its content until the first write(). If the path is a FIFO that no process reads, open() fails,
  // because a wait for a reader could last forever. If the path cannot be written, returns a sentence that says why.
  // Otherwise returns an empty text.
  std::string open(const std::string& path);
  bool is_wanted() const { return !path_.empty(); }
  bool is_stdout() const { return path_ == "-"; }
  // Writes `text`. The first call replaces the old content of a file, and later calls append. Waits if the reader of a
  // pipe is slow. Returns false if the text could not be written. If no output is wanted, writes nothing and returns
  // true.
  bool write(std::string_view text);
  // Returns the stream for the report that people read: stderr if this output is stdout, otherwise stdout.
  std::FILE* report_place() const { return is_stdout() ? stderr : stdout; }
  // Prints `text` to report_place(), and writes `json` to this output. If one of the two fails, returns a sentence that
  // says that `what` could not be written. Otherwise returns an empty text. If this output is stdout, `text` goes to
  // stderr. In that case a failure to print `text` is ignored, because `json` holds the results too.
  std::string report(std::string_view what, std::string_view text, std::string_view json);

 private:
  std::string path_;
  Fd file_;
  bool is_new_ = false;
  bool is_written_ = false;
};

}  // namespace peal::cli
