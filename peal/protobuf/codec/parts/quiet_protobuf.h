// SPDX-License-Identifier: BSD-3-Clause
// QuietProtobuf: while it lives, what protobuf logs on this thread is dropped. When protobuf parses or serialises, it
// logs a line to stderr for each string that is no UTF-8. The string may be a peer's, and nothing bounds the lines. The
// caller reports the unreadable message instead.
//
// The first one installs a log handler of protobuf's (SetLogHandler), which passes everything else to the handler that
// was there before. A handler that the program sets later takes its place. protobuf's own LogSilencer would do, but it
// silences all threads, and each message would write to one counter that all of them share.
#pragma once

namespace peal::detail {

class QuietProtobuf {
 public:
  QuietProtobuf() {
    install();
    quiet_ = true;
  }
  ~QuietProtobuf() { quiet_ = false; }
  QuietProtobuf(const QuietProtobuf&) = delete;
  QuietProtobuf& operator=(const QuietProtobuf&) = delete;

  static bool is_on() { return quiet_; }

 private:
  static void install();

  [[gnu::tls_model("initial-exec")]] static thread_local constinit bool quiet_;
};

inline thread_local constinit bool QuietProtobuf::quiet_ = false;

}  // namespace peal::detail
