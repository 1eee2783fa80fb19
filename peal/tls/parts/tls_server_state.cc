// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_server_state.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <ranges>

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <peal/tls/parts/session_age.h>

namespace peal::detail {
namespace {

constexpr size_t kLeastSecretBytes = 32;

// LoadedFiles holds what was read from the files at one time. It consists of an SSL_CTX for each group of hosts that
// have the same certificates, and of the data that OpenSSL's callbacks use during a handshake. May be used on any
// thread.
//
// A LoadedFiles is owned by its first SSL_CTX, which serves clients that ask for no name. Every connection begins with
// that SSL_CTX and holds a reference to it. So the LoadedFiles lives as long as the last of these connections.
class LoadedFiles {
 public:
  // `options` and `key_log` must outlive all connections. The keys of tickets are derived from `secret`, unless the
  // options name a ticket_secret_file.
  LoadedFiles(const TlsServerOptions& options, const Fd& key_log, std::string secret)
      : options_(options), key_log_(key_log), secret_(std::move(secret)) {}

  // Loads all files. Returns the first SSL_CTX, which owns `loaded` from then on. Returns null if a file or an option
  // is wrong; files.error() then says which.
  static SslCtxPtr make(std::unique_ptr<LoadedFiles> loaded, PemFiles& files) {
    if (!loaded->load(files)) return nullptr;
    std::map<Group, SSL_CTX*> ctx_of;
    SslCtxPtr first;
    for (const auto& [host, group] : loaded->groups_) {
      SSL_CTX*& ctx = ctx_of[group];
      if (ctx == nullptr) {
        SslCtxPtr& made = first ? loaded->others_.emplace_back() : first;
        made = loaded->make_ctx(group, files);
        ctx = made.get();
      }
      if (ctx == nullptr) return nullptr;
      loaded->by_host_.emplace(host, ctx);
    }
    static const int owner = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr,
        [](void*, void* owned, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<LoadedFiles*>(owned); });
    SSL_CTX_set_ex_data(first.get(), owner, loaded.release());
    return first;
  }

  // Returns the LoadedFiles to which `ctx` belongs.
  static const LoadedFiles& of(const SSL_CTX* ctx) {
    return *static_cast<const LoadedFiles*>(SSL_CTX_get_app_data(ctx));
  }

  // Returns the earliest expiry of all certificates in all chains.
  std::chrono::sys_seconds valid_until() const {
    return std::ranges::min_element(certificates_, {}, &CertifiedKey::until)->until;
  }

 private:
  static constexpr size_t kNameBytes = 16, kKeyBytes = 32;
  using Keys = std::array<unsigned char, 2 * kKeyBytes>;
  // Indexes in certificates_. If several certificates of a group have the same kind of key, the first one is used.
  using Group = std::vector<size_t>;

  // Reads all files and checks the options. Returns false if a file or an option is wrong; files.error() then says
  // which.
  bool load(PemFiles& files) {
    if (options_.certificates.empty()) return files.fail("a server needs a certificate, and none is given");
    for (const TlsCertificate& from : options_.certificates) {
      CertifiedKey& certificate = certificates_.emplace_back();
      if (!files.read_certificate(from, tls_now(options_.clock), certificate)) return false;
      const std::vector<std::string> hosts = hosts_of(certificate.chain.front().get());
      if (hosts.empty()) return files.fail(certificate.name + ": the certificate has no names (subjectAltName)");
      for (const std::string& host : hosts) groups_[host].push_back(certificates_.size() - 1);
    }
    groups_[""] = groups_[hosts_of(certificates_.front().chain.front().get()).front()];
    if (!alpn_list(options_.applications, applications_)) return files.fail(kBadApplication);
    if (options_.client_auth != TlsClientAuth::kOff && !files.read_roots(options_.client_roots, roots_)) {
      return files.fail("client_roots: " + files.error());
    }
    digest_client_trust();
    // A ticket is accepted for up to two epochs, and for a week at most (RFC 8446 4.6.1).
    if (options_.ticket_epoch < std::chrono::seconds(1) || options_.ticket_epoch > std::chrono::hours(84)) {
      return files.fail("ticket_epoch is shorter than a second, or longer than 84 hours");
    }
    const std::string& file = options_.ticket_secret_file;
    if (!file.empty()) {
      secret_.clear();
      if (!files.read(file, secret_)) return false;
    }
    return secret_.size() >= kLeastSecretBytes || files.fail(file + ": holds less than 32 bytes");
  }

  // Sets client_trust_digest_. The digests of the roots are added up, so that the order of the roots does not matter.
  void digest_client_trust() {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> sum{}, root{};
    for (const X509Ptr& each : roots_) {
      X509_digest(each.get(), EVP_sha256(), root.data(), nullptr);
      std::ranges::transform(sum, root, sum.begin(), std::plus<unsigned char>());
    }
    client_trust_digest_.assign(1, static_cast<char>(options_.client_auth)).append(sum.begin(), sum.end());
  }

  // Makes the SSL_CTX of a group of certificates. Returns null on a failure; files.error() then says what failed.
  SslCtxPtr make_ctx(const Group& group, PemFiles& files) {
    SslCtxPtr made = make_ssl_ctx(TLS_server_method(), options_.limits);
    SSL_CTX* ctx = made.get();
    std::string failed = ctx == nullptr || !ask_for_client_certificate(ctx) ? "OpenSSL cannot make a TLS context" : "";
    for (const size_t index : std::views::reverse(group)) {  // OpenSSL uses the last of one kind of key.
      const CertifiedKey& certificate = certificates_[index];
      if (failed.empty() && !use_certificate(ctx, certificate))
        failed = certificate.name + ": OpenSSL refuses this certificate";
    }
    if (!failed.empty()) {
      files.fail(openssl_says(failed));
      return nullptr;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    const Duration lifetime = std::min(2 * options_.ticket_epoch, options_.limits.most_session_age);
    SSL_CTX_set_timeout(ctx, std::chrono::floor<std::chrono::seconds>(lifetime).count());
    SSL_CTX_set_num_tickets(ctx, options_.tickets ? 1 : 0);
    if (!options_.tickets) SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, set_up_ticket_keys);
    SSL_CTX_set_session_ticket_cb(ctx, store_times_in_ticket, decide_on_ticket, nullptr);
    SSL_CTX_set_client_hello_cb(ctx, bind_session_to_name, nullptr);
    SSL_CTX_set_tlsext_servername_callback(ctx, choose_certificate);
    SSL_CTX_set_tlsext_status_cb(ctx, staple);
    if (!applications_.empty()) SSL_CTX_set_alpn_select_cb(ctx, choose_application, this);
    if (key_log_) {
      SSL_CTX_set_keylog_callback(ctx,
                                  [](const SSL* ssl, const char* line) { write_key_line(of(ssl).key_log_, line); });
    }
    SSL_CTX_set_app_data(ctx, this);
    return made;
  }

  // Makes OpenSSL ask clients for certificates as client_auth says. Returns false if OpenSSL fails.
  bool ask_for_client_certificate(SSL_CTX* ctx) const {
    for (const X509Ptr& each : roots_) {
      if (SSL_CTX_add_client_CA(ctx, each.get()) != 1) return false;
    }
    const int must = options_.client_auth == TlsClientAuth::kRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    if (options_.client_auth != TlsClientAuth::kOff) SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | must, nullptr);
    return use_roots(ctx, roots_);
  }

  static const LoadedFiles& of(const SSL* ssl) { return of(SSL_get_SSL_CTX(ssl)); }

  // Sets the session id context of this handshake. OpenSSL resumes a session only if the session was made with the same
  // context. The context is a digest of two things:
  // - The host name in the hello. A session may be resumed only for the name for which it was made (RFC 6066 3). TLS
  //   1.3 leaves that check to the client (RFC 8446 4.6.1). A client that does not check could use a session that it
  //   authenticated for one host to reach another host.
  // - client_auth and the trusted client roots, because a resumption does not verify the client's certificate again.
  // The name is taken from the hello's extension, because SSL_get_servername() returns the session's name in TLS 1.2.
  static int bind_session_to_name(SSL* ssl, int* /*alert*/, void* /*argument*/) {
    const LoadedFiles& own = of(ssl);
    std::string context = own.client_trust_digest_;
    const unsigned char* name = nullptr;
    size_t name_bytes = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &name, &name_bytes) == 1) {
      context.append(reinterpret_cast<const char*>(name), name_bytes);
    }
    std::array<unsigned char, SSL_MAX_SID_CTX_LENGTH> digest{};
    const bool done = EVP_Digest(context.data(), context.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1 &&
                      SSL_set_session_id_context(ssl, digest.data(), digest.size()) == 1;
    return done ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
  }

  // Called by OpenSSL before it makes a ticket (SSL_CTX_set_session_ticket_cb(3)). Returns 0 if OpenSSL has no memory.
  static int store_times_in_ticket(SSL* ssl, void* /*argument*/) {
    return store_handshake_times(ssl, SSL_get_session(ssl), tls_now(of(ssl).options_.clock)) ? 1 : 0;
  }

  // Called by OpenSSL after it has tried to decrypt a client's ticket. Decides whether the session in the ticket is
  // resumed. If the ticket is ignored, a full handshake follows, and the client gets a new ticket.
  static SSL_TICKET_RETURN decide_on_ticket(SSL* ssl, SSL_SESSION* session, const unsigned char* /*name*/,
                                            size_t /*name_bytes*/, SSL_TICKET_STATUS status, void* /*argument*/) {
    const TlsServerOptions& options = of(ssl).options_;
    const bool is_read = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
    if (!is_read || !may_be_resumed(session, tls_now(options.clock), options.limits.most_session_age)) {
      return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
  }

  // Switches to the SSL_CTX of the host name in the hello (SSL_CTX_set_tlsext_servername_callback(3)).
  static int choose_certificate(SSL* ssl, int* alert, void* /*argument*/) {
    const LoadedFiles& own = of(ssl);
    const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (asked == nullptr) return SSL_TLSEXT_ERR_NOACK;
    const std::string host = host_key(asked);
    auto found = own.by_host_.find(host);
    const size_t dot = host.find('.');
    if (found == own.by_host_.end() && dot != std::string::npos) found = own.by_host_.find("*" + host.substr(dot));
    if (found != own.by_host_.end()) {
      SSL_set_SSL_CTX(ssl, found->second);
      return SSL_TLSEXT_ERR_OK;
    }
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return own.options_.unknown_name == TlsUnknownName::kFirst ? SSL_TLSEXT_ERR_NOACK : SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  // Chooses the first protocol of TlsServerOptions::applications that the client offers
  // (SSL_CTX_set_alpn_select_cb(3)).
  static int choose_application(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_bytes,
                                const unsigned char* in, unsigned int in_bytes, void* self) {
    const std::string& ours = static_cast<const LoadedFiles*>(self)->applications_;
    const int chosen = SSL_select_next_proto(const_cast<unsigned char**>(out), out_bytes,
                                             reinterpret_cast<const unsigned char*>(ours.data()),
                                             static_cast<unsigned int>(ours.size()), in, in_bytes);
    return chosen == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  // Staples the OCSP response of the certificate that the server shows, unless that certificate has no response or the
  // response has expired.
  static int staple(SSL* ssl, void* /*argument*/) {
    const auto& [options, all] = std::tie(of(ssl).options_, of(ssl).certificates_);
    const X509* shown = SSL_get_certificate(ssl);
    const auto found = std::ranges::find(all, shown, [](const auto& each) { return each.chain.front().get(); });
    if (found == all.end() || found->staple.empty() || found->staple_until < tls_now(options.clock)) {
      return SSL_TLSEXT_ERR_NOACK;
    }
    void* copy = OPENSSL_memdup(found->staple.data(), found->staple.size());
    SSL_set_tlsext_status_ocsp_resp(ssl, static_cast<unsigned char*>(copy), static_cast<long>(found->staple.size()));
    return SSL_TLSEXT_ERR_OK;
  }

  // Sets up the keys to encrypt (`seal` != 0) or decrypt a ticket. Time is divided into epochs, which are numbered. The
  // keys of an epoch are derived from the secret and the epoch's number, so every process with the same secret can read
  // the ticket. The key name in the ticket is the number of the epoch in which the ticket was made. Returns, as
  // SSL_CTX_set_tlsext_ticket_key_evp_cb(3) demands:
  // -  1: the keys are set;
  // -  2: the keys are set, and the client gets a new ticket. In TLS 1.2 this is so if the ticket is of the previous
  //       epoch. In TLS 1.3 it is always so, because a ticket is used once;
  // -  0: the key name is not the number of the current or the previous epoch, so the ticket is not used;
  // - -1: OpenSSL failed.
  static int set_up_ticket_keys(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                                EVP_MAC_CTX* mac, int seal) {
    const LoadedFiles& own = of(ssl);
    const auto epoch_seconds = std::chrono::floor<std::chrono::seconds>(own.options_.ticket_epoch);
    const auto now = static_cast<uint64_t>(tls_now(own.options_.clock).time_since_epoch() / epoch_seconds);
    std::string epoch = fmt::format("{:016x}", now);
    if (seal != 0) std::memcpy(name, epoch.data(), kNameBytes);
    const bool is_old = std::memcmp(name, epoch.data(), kNameBytes) != 0;
    if (is_old) epoch = fmt::format("{:016x}", now - 1);
    if (std::memcmp(name, epoch.data(), kNameBytes) != 0) return 0;
    Keys keys{};
    const bool found = own.derive_keys(epoch, keys);
    std::array<char, 7> digest{"SHA256"};
    const std::array<OSSL_PARAM, 3> params{
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, keys.data() + kKeyBytes, kKeyBytes),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
    const bool done = found && (seal == 0 || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1) &&
                      EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, keys.data(), iv, seal) == 1 &&
                      EVP_MAC_CTX_set_params(mac, params.data()) == 1;
    OPENSSL_cleanse(keys.data(), keys.size());
    if (!done) return -1;
    return is_old || SSL_version(ssl) >= TLS1_3_VERSION ? 2 : 1;
  }

  // Derives the two keys of an epoch from the secret: one to encrypt and one to authenticate. Does one step of
  // HKDF-Expand (RFC 5869 2.3), which makes a block of 64 bytes for both keys. Keeps the keys of the two newest epochs,
  // because the derivation costs 1 % of a resumed handshake. Returns false if OpenSSL fails.
  bool derive_keys(const std::string& epoch, Keys& keys) const {
    const MutexLock lock(mutex_);
    if (const auto found = keys_of_epochs_.find(epoch); found != keys_of_epochs_.end()) {
      keys = found->second;
      return true;
    }
    const std::string info = "peal session tickets" + epoch + '\x01';
    const auto* bytes = reinterpret_cast<const unsigned char*>(info.data());
    const auto secret_bytes = static_cast<int>(secret_.size());
    if (!HMAC(EVP_sha512(), secret_.data(), secret_bytes, bytes, info.size(), keys.data(), nullptr)) return false;
    keys_of_epochs_.emplace(epoch, keys);
    if (keys_of_epochs_.size() > 2) keys_of_epochs_.erase(keys_of_epochs_.begin());
    return true;
  }

  const TlsServerOptions& options_;
  const Fd& key_log_;
  std::string secret_, applications_;
  std::string client_trust_digest_;  // Identifies client_auth and the trusted client roots.
  std::vector<CertifiedKey> certificates_;
  std::vector<X509Ptr> roots_;
  std::map<std::string, Group> groups_;  // By host; "" is for clients that ask for no name.
  std::map<std::string, SSL_CTX*> by_host_;
  std::vector<SslCtxPtr> others_;  // All SSL_CTX objects except the first.
  mutable Mutex mutex_;
  mutable std::map<std::string, Keys> keys_of_epochs_ PEAL_GUARDED_BY(mutex_);  // By epoch.
};

}  // namespace

TlsResult<std::shared_ptr<TlsServerState>> TlsServerState::make(TlsServerOptions options) {
  const NoOpensslErrors errors;
  std::shared_ptr<TlsServerState> made(new TlsServerState(std::move(options)));
  std::array<unsigned char, kLeastSecretBytes> secret{};
  if (RAND_priv_bytes(secret.data(), secret.size()) != 1)
    return std::unexpected(openssl_says("OpenSSL gave no random bytes"));
  made->secret_.assign(secret.begin(), secret.end());
  TlsResult<Fd> key_log = open_key_log(made->options_.key_log_file);
  if (!key_log) return std::unexpected(key_log.error());
  made->key_log_ = std::move(*key_log);
  if (const TlsResult<bool> loaded = made->reload(false); !loaded) return std::unexpected(loaded.error());
  made->reloads_ = 0;
  return made;
}

TlsResult<bool> TlsServerState::reload(bool only_if_changed) {
  const NoOpensslErrors errors;
  const MutexLock reading(reading_);
  if (only_if_changed && !files_.have_changed()) return false;
  files_ = {};
  SslCtxPtr made = LoadedFiles::make(std::make_unique<LoadedFiles>(options_, key_log_, secret_), files_);
  ++(made ? reloads_ : reloads_failed_);
  if (!made) return std::unexpected(files_.error());
  const MutexLock lock(mutex_);
  current_.swap(made);
  return true;
}

SslCtxPtr TlsServerState::current() const {
  const MutexLock lock(mutex_);
  SSL_CTX_up_ref(current_.get());
  return SslCtxPtr(current_.get());
}

LayerStats TlsServerState::stats() const {
  LayerStats stats = counted();
  stats.reloads = reloads_;
  stats.reloads_failed = reloads_failed_;
  stats.valid_until = LoadedFiles::of(current().get()).valid_until();
  return stats;
}

SslPtr TlsServerState::make_ssl(const std::string& /*host*/, const SocketAddress& /*peer*/) {
  const NoOpensslErrors errors;
  SslPtr ssl(SSL_new(current().get()));
  if (!ssl) return nullptr;
  SSL_set_accept_state(ssl.get());
  set_time(ssl.get(), options_.clock);
  return ssl;
}

}  // namespace peal::detail
