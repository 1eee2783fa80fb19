// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_client_state.h>

#include <algorithm>

#include <fmt/format.h>

#include <peal/tls/parts/pem_files.h>
#include <peal/tls/parts/session_age.h>

namespace peal::detail {
namespace {

// Returns the TlsClientState that made `ssl`.
TlsClientState& self_of(const SSL* ssl) {
  return *static_cast<TlsClientState*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

// Returns the index of the ex_data of an SSL where its session key is stored. The key is a std::string*: SessionCache
// keeps the connection's sessions under this text. The string is destroyed with the SSL.
int session_key_index() {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* key, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<std::string*>(key); });
  return index;
}

// Returns the SHA-256 of the certificate's SubjectPublicKeyInfo in base64.
std::string pin_of(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  std::array<unsigned char, 32> digest{};
  std::array<unsigned char, 45> text{};
  if (size > 0) EVP_Digest(der, static_cast<size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  return {text.begin(), text.begin() + EVP_EncodeBlock(text.data(), digest.data(), digest.size())};
}

// Returns whether `text` has the form of a SHA-256 in base64.
bool is_pin(std::string_view text) {
  constexpr const char* kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return text.size() == 44 && text.back() == '=' && text.find_first_not_of(kBase64) == 43;
}

}  // namespace

TlsResult<std::shared_ptr<TlsClientState>> TlsClientState::make(TlsClientOptions options) {
  const NoOpensslErrors errors;
  std::shared_ptr<TlsClientState> made(new TlsClientState(std::move(options)));
  PemFiles files;
  if (!made->load(files)) return std::unexpected(files.error());
  return made;
}

bool TlsClientState::load(PemFiles& files) {
  ctx_ = make_ssl_ctx(TLS_client_method(), options_.limits);
  SSL_CTX* ctx = ctx_.get();
  if (ctx == nullptr) return files.fail(openssl_says("OpenSSL cannot make a TLS context"));
  std::vector<X509Ptr> roots;
  if (options_.roots.file.empty() && options_.roots.pem.empty()) {
    SSL_CTX_set_default_verify_paths(ctx);
  } else if (!files.read_roots(options_.roots, roots) || !use_roots(ctx, roots)) {
    return false;
  }
  if (options_.certificate) {
    CertifiedKey own;
    if (!files.read_certificate(*options_.certificate, tls_now(options_.clock), own)) return false;
    if (!use_certificate(ctx, own)) return files.fail(openssl_says(own.name + ": OpenSSL refuses this certificate"));
    valid_until_ = own.until;
  }
  const auto bad = std::ranges::find_if_not(options_.pins, is_pin);
  if (bad != options_.pins.end()) return files.fail("\"" + *bad + "\" is not the SHA-256 of a key in base64");
  std::string list;
  if (!alpn_list(options_.applications, list)) return files.fail(kBadApplication);
  SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(list.data()), static_cast<uint32_t>(list.size()));
  SSL_CTX_set_verify(ctx, options_.insecure_accept_any_certificate ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_app_data(ctx, this);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx, keep_session);
  if (options_.most_sessions == 0) SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  TlsResult<Fd> key_log = open_key_log(options_.key_log_file);
  if (!key_log) return files.fail(key_log.error());
  key_log_ = std::move(*key_log);
  const auto secret = [](const SSL* ssl, const char* line) { write_key_line(self_of(ssl).key_log_, line); };
  if (key_log_) SSL_CTX_set_keylog_callback(ctx, secret);
  return true;
}

LayerStats TlsClientState::stats() const {
  LayerStats stats = counted();
  stats.valid_until = valid_until_;
  return stats;
}

SslPtr TlsClientState::make_ssl(const std::string& host, const SocketAddress& peer) {
  const NoOpensslErrors errors;
  SslPtr ssl(SSL_new(ctx_.get()));
  const std::string name = host_key(host);
  if (!ssl || name.empty() != host.empty() || !set_expected_peer(ssl.get(), name, peer)) return nullptr;
  SSL_set_connect_state(ssl.get());
  set_time(ssl.get(), options_.clock);
  if (options_.most_sessions > 0) offer_kept_session(ssl.get(), name, peer);
  return ssl;
}

bool TlsClientState::set_expected_peer(SSL* ssl, const std::string& host, const SocketAddress& peer) const {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  const std::string text = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":1";
  const SocketAddress whom = host.empty() ? peer : SocketAddress::parse(text).value_or(SocketAddress());
  if (whom.is_ip()) {
    const bool is_v4 = whom.family() == AF_INET;
    const auto* bytes = reinterpret_cast<const unsigned char*>(whom.data()) +
                        (is_v4 ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr));
    return X509_VERIFY_PARAM_set1_ip(param, bytes, is_v4 ? sizeof(in_addr) : sizeof(in6_addr)) == 1;
  }
  if (host.empty()) return options_.insecure_accept_any_certificate;
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // A name with a leading dot is refused, because OpenSSL would accept any name in the certificate that ends with it.
  return !host.starts_with('.') && X509_VERIFY_PARAM_set1_host(param, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

void TlsClientState::offer_kept_session(SSL* ssl, const std::string& host, const SocketAddress& peer) {
  auto* key = new std::string(host.empty() ? peer.to_string() : fmt::format("{}:{}", host, peer.port()));
  const SessionPtr session = sessions_.take(*key);
  if (session && may_be_resumed(session.get(), tls_now(options_.clock), limits.most_session_age)) {
    SSL_set_session(ssl, session.get());
  }
  if (SSL_set_ex_data(ssl, session_key_index(), key) != 1) delete key;
}

int TlsClientState::keep_session(SSL* ssl, SSL_SESSION* session) {
  TlsClientState& own = self_of(ssl);
  const auto* key = static_cast<const std::string*>(SSL_get_ex_data(ssl, session_key_index()));
  if (key == nullptr || own.verify_further(ssl) != X509_V_OK) return 0;
  SessionPtr copy(SSL_SESSION_dup(session));
  if (copy && store_handshake_times(ssl, copy.get(), tls_now(own.options_.clock)))
    own.sessions_.put(*key, std::move(copy));
  return 0;  // OpenSSL keeps the ownership of `session`.
}

long TlsClientState::verify_further(const SSL* ssl) {
  // A session that is resumed has passed the check of the pins after its full handshake.
  if (options_.pins.empty() || SSL_session_reused(ssl) == 1) return X509_V_OK;
  const auto is_pinned = [this](const X509* each) {
    return each != nullptr && std::ranges::find(options_.pins, pin_of(each)) != options_.pins.end();
  };
  STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  bool found = options_.insecure_accept_any_certificate && is_pinned(SSL_get0_peer_certificate(ssl));
  for (int index = 0; !options_.insecure_accept_any_certificate && index < sk_X509_num(chain); ++index) {
    found = found || is_pinned(sk_X509_value(chain, index));
  }
  return found ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION;
}

}  // namespace peal::detail
