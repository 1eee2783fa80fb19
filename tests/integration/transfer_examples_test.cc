// SPDX-License-Identifier: BSD-3-Clause
// Runs the examples that send a file, and the relay, as programs. The client sends FIN first and reads in small pieces.
// A large file must arrive complete, and the sender's memory must not grow with the file.
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/base/fd.h>
#include <peal/base/socket_address.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/program.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMostMemory = (kSanitized ? 1024 : 32) * kMiB;         // a sanitizer keeps freed memory
constexpr uint64_t kLargeBytes = (kSanitized ? 64 : 1024) * kMiB + 4321;  // not a multiple of any buffer size
constexpr uint64_t kMarkEvery = 16 * kMiB - 1000;

// A file of zeros with marks of 8 bytes. Each mark contains its own position, so a test notices bytes that are lost,
// doubled or moved.
class SparseFile {
 public:
  explicit SparseFile(uint64_t bytes) {
    std::ofstream file(path_, std::ios::binary);
    for (uint64_t at = 0; at + 8 <= bytes; at += kMarkEvery) {
      file.seekp(static_cast<std::streamoff>(at));
      file << fmt::format("{:08x}", at);
    }
    file.close();
    std::filesystem::resize_file(path_, bytes);
  }
  const std::string& path() const { return path_; }

 private:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.path("sparse");
};

// Runs an example that serves at a free port.
class Service {
 public:
  Service(const std::string& name, const std::string& argument)
      : program_("examples/" + name, {argument, "127.0.0.1:0"}) {
    const std::string line = program_.line();
    address_ = line.substr(line.rfind(' ') + 1);
  }

  const std::string& address() const { return address_; }
  uint64_t peak_bytes() const { return program_.peak_bytes(); }

 private:
  Program program_;
  std::string address_;
};

// Connects, sends FIN immediately, and reads to the end in pieces of at most 40,000 bytes. Checks every mark and
// returns the number of bytes.
uint64_t download(const std::string& address) {
  const auto to = SocketAddress::parse(address);
  if (!to) return 0;
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  EXPECT_EQ(::connect(socket.get(), to->data(), to->size()), 0);
  EXPECT_EQ(::shutdown(socket.get(), SHUT_WR), 0);
  std::vector<char> piece(40'000);
  std::string mark;
  uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::recv(socket.get(), piece.data(), piece.size(), 0);
    EXPECT_GE(got, 0) << errno_code(errno).message();
    if (got <= 0) return total;
    for (ssize_t i = 0; i < got; ++i, ++total) {
      const uint64_t into = total % kMarkEvery;
      if (into >= 8) {
        // Skips the bytes up to the next mark.
        const uint64_t skip = std::min<uint64_t>(static_cast<uint64_t>(got - i), kMarkEvery - into) - 1;
        i += static_cast<ssize_t>(skip);
        total += skip;
        continue;
      }
      mark += piece[static_cast<size_t>(i)];
      if (into != 7) continue;
      EXPECT_EQ(mark, fmt::format("{:08x}", total - 7));
      mark.clear();
    }
  }
}

TEST(TransferExamplesTest, whole_file_arrives) {
  const SparseFile file(9 * kMiB);
  const Service service("file_whole", file.path());
  EXPECT_EQ(download(service.address()), 9 * kMiB);
}

TEST(TransferExamplesTest, large_file_arrives_chunk_by_chunk_in_constant_memory) {
  const SparseFile file(kLargeBytes);
  const Service service("file_chunks", file.path());
  EXPECT_EQ(download(service.address()), kLargeBytes);
  EXPECT_LT(service.peak_bytes(), kMostMemory);
}

TEST(TransferExamplesTest, large_file_arrives_with_zero_copy_in_constant_memory) {
  const SparseFile file(kLargeBytes);
  const Service service("file_zero_copy", file.path());
  EXPECT_EQ(download(service.address()), kLargeBytes);
  EXPECT_LT(service.peak_bytes(), kMostMemory);
}

TEST(TransferExamplesTest, large_file_arrives_through_the_relay) {
  const SparseFile file(kLargeBytes / 4);
  const Service upstream("file_zero_copy", file.path());
  const Service relay("tcp_relay", upstream.address());
  EXPECT_EQ(download(relay.address()), kLargeBytes / 4);
  EXPECT_LT(relay.peak_bytes(), kMostMemory);
}

TEST(TransferExamplesTest, relay_whose_upstream_is_gone_ends_its_client) {
  std::string nobody;
  {
    const SparseFile file(1);
    nobody = Service("file_zero_copy", file.path()).address();
  }
  const Service relay("tcp_relay", nobody);
  const auto to = SocketAddress::parse(relay.address());
  ASSERT_TRUE(to.has_value());
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), to->data(), to->size()), 0);
  char none = 0;
  EXPECT_EQ(::recv(socket.get(), &none, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

}  // namespace
}  // namespace peal
