// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/ssl_settings.h>

#include <fcntl.h>
#include <unistd.h>

#include <ctime>

#include <peal/base/result.h>

namespace peal::detail {

SslCtxPtr make_ssl_ctx(const SSL_METHOD* method, const TlsLimits& limits) {
  constexpr const char* kCiphers12 =
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
      "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
  constexpr const char* kCiphers13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
  SslCtxPtr made(SSL_CTX_new(method));
  SSL_CTX* ctx = made.get();
  if (ctx == nullptr || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1 || SSL_CTX_set_cipher_list(ctx, kCiphers12) != 1 ||
      SSL_CTX_set_ciphersuites(ctx, kCiphers13) != 1 || SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") != 1) {
    return nullptr;
  }
  // The server prefers AES-128. It chooses ChaCha20 only for a client that lists ChaCha20 first, because such a client
  // has no AES in hardware.
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                               SSL_OP_PRIORITIZE_CHACHA);
  // Without SSL_MODE_NO_AUTO_CHAIN, OpenSSL would search in each handshake for missing certificates of a chain.
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_max_cert_list(ctx, static_cast<long>(limits.most_chain_bytes));
  return made;
}

std::chrono::sys_seconds time_of(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

bool alpn_list(const std::vector<std::string>& applications, std::string& list) {
  for (const std::string& name : applications) {
    if (name.empty() || name.size() > 255) return false;
    list += static_cast<char>(name.size()) + name;
  }
  return list.size() <= 65535;
}

TlsResult<Fd> open_key_log(const std::string& path) {
  if (path.empty()) return {};
  // The path may be a pipe. O_NONBLOCK keeps a loop from blocking if nobody reads from the pipe.
  Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file) return std::unexpected(path + ": cannot be written: " + errno_code(errno).message());
  return file;
}

void write_key_line(const Fd& file, std::string line) {
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(file.get(), line.data(), line.size());
}

}  // namespace peal::detail
