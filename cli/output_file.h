// SPDX-License-Identifier: BSD-3-Clause
// OutputFile: where a command writes what it has found. It is opened before the work begins: a file that cannot be
// written is known before a long run, and whoever reads a FIFO waits until the figures come.
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
  // Removes the file if open() made it and nothing was written.
  ~OutputFile();

  // Once. "-" is stdout; empty: nothing is wanted. A file keeps what it has until the first write(). Does not wait.
  // Returns why it cannot be written, in one sentence; empty: it can.
  std::string open(const std::string& path);
  bool is_wanted() const { return !path_.empty(); }
  bool is_stdout() const { return path_ == "-"; }
  // The first text replaces what a file had, others are appended. Waits for whoever reads a pipe. False: it could not
  // be written. True where nothing is wanted.
  bool write(std::string_view text);
  // Where the report in words goes: stdout, or stderr where the file is stdout.
  std::FILE* report_place() const { return is_stdout() ? stderr : stdout; }
  // Says the report there, and writes it as JSON too. What could not be written, as one sentence about `what`; empty:
  // nothing, or just stderr.
  std::string report(std::string_view what, std::string_view text, std::string_view json);

 private:
  std::string path_;
  Fd file_;
  bool is_new_ = false;
  bool is_written_ = false;
};

}  // namespace peal::cli
