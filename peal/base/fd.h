// SPDX-License-Identifier: BSD-3-Clause
// Fd owns one file descriptor: moved, never copied, closed once.
#pragma once

#include <string_view>
#include <utility>

namespace peal {

class Fd {
 public:
  Fd() = default;
  // Takes ownership; -1 means none.
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  // Closes what it owns, if anything, then owns `fd`. A failing close(2) is not retried: on Linux the descriptor
  // is gone whatever it answers (close(2), NOTES). EBADF is our bug and asserts.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Writes all of `bytes`, in as many calls as it takes; the calling thread waits. False: errno says why the rest is not
// written.
bool write_whole(int fd, std::string_view bytes);

}  // namespace peal
