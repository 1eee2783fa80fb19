// SPDX-License-Identifier: BSD-3-Clause
// Fd owns one file descriptor and closes it exactly once. An Fd can be moved and not copied.
#pragma once

#include <string_view>
#include <utility>

namespace peal {

class Fd {
 public:
  Fd() = default;
  // Takes ownership of `fd`. -1 means that there is no descriptor.
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  // Returns the descriptor, or -1 if there is none. The Fd keeps the ownership.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Returns the descriptor and gives up its ownership. The caller has to close it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  // Closes the descriptor that the Fd owns, if there is one, and takes ownership of `fd`. errno is left unchanged. A
  // close(2) that fails is not retried, because Linux has released the descriptor even then (close(2), NOTES). Asserts
  // if close(2) fails with EBADF, which means that other code has closed the descriptor.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Writes all of `bytes` to `fd` with write(2), and blocks the calling thread until that is done. Returns false on an
// error: errno has the reason, and a part of the bytes may have been written.
bool write_whole(int fd, std::string_view bytes);

}  // namespace peal
