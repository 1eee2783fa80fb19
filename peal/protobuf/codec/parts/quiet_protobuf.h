// SPDX-License-Identifier: BSD-3-Clause
// While a QuietProtobuf object lives, log lines of protobuf on its thread are dropped, except fatal ones. When protobuf
// parses or serialises, it logs a line to stderr for each string that is not valid UTF-8. A peer could send such
// strings and cause any number of lines. The caller of protobuf reports the unreadable message instead.
//
// The first object installs a log handler by protobuf's SetLogHandler(). The handler passes all lines that are not
// dropped to the handler that was set before. If the program sets its own handler later, that one replaces this one.
//
// protobuf's own LogSilencer is not used because it silences all threads. Each message would also write to a counter
// that all threads share.
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

  // Returns true if the calling thread has a QuietProtobuf object now.
  static bool is_on() { return quiet_; }

 private:
  // Installs the log handler at the first call. Later calls do nothing.
  static void install();

  [[gnu::tls_model("initial-exec")]] static thread_local constinit bool quiet_;
};

inline thread_local constinit bool QuietProtobuf::quiet_ = false;

}  // namespace peal::detail
