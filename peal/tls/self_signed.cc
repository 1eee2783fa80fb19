// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/self_signed.h>

#include <arpa/inet.h>

#include <array>

#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <peal/tls/parts/ssl_settings.h>

namespace peal {
namespace {

// Returns the names in the form that X509V3_EXT_conf_nid() reads: "DNS:example.org,IP:127.0.0.1". Returns a sentence
// instead if a name is invalid or if there is none.
TlsResult<std::string> alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool is_address = ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
                            ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
    // The part of the name after "*.", if the name begins with this wildcard label (RFC 6125 6.4.3).
    const std::string_view host = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
    if (host.empty() || host.front() == '.' || name.size() > 253 ||
        host.find_first_not_of(is_address ? "0123456789abcdefABCDEF.:"
                                          : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
            std::string::npos) {
      return std::unexpected("\"" + name + "\" is neither a host name nor an address");
    }
    text += (text.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + name;
  }
  if (text.empty()) return std::unexpected("a self-signed certificate needs at least one name");
  return text;
}

// Adds an extension to the certificate. Returns false if OpenSSL fails.
bool extend(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const detail::Freed<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Sets a random serial number. Returns false if OpenSSL fails.
bool set_serial(X509* certificate) {
  constexpr int kSerialBits = 127;
  BIGNUM* random = BN_new();
  const bool done = random != nullptr && BN_rand(random, kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                    BN_to_ASN1_INTEGER(random, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(random);
  return done;
}

// Fills in all fields of the certificate and signs it with `key`. Returns false if OpenSSL fails.
bool fill(X509* certificate, EVP_PKEY* key, const SelfSignedOptions& options, const std::string& names) {
  constexpr long kEarlierSeconds = 3600;  // The clocks of other machines may be slow.
  X509_NAME* subject = X509_get_subject_name(certificate);
  constexpr size_t kMostCommonNameBytes = 64;  // ub-common-name of RFC 5280.
  const std::string common = options.names.front().substr(0, kMostCommonNameBytes);
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -kEarlierSeconds) != nullptr &&
         X509_time_adj_ex(X509_getm_notAfter(certificate), static_cast<int>(options.valid.count()), 0, nullptr) !=
             nullptr &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, subject) == 1 && extend(certificate, NID_subject_alt_name, names) &&
         extend(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
         extend(certificate, NID_subject_key_identifier, "hash") &&
         extend(certificate, NID_ext_key_usage, "serverAuth,clientAuth") &&
         X509_sign(certificate, key, EVP_sha256()) != 0;
}

}  // namespace

TlsResult<SelfSigned> make_self_signed(const SelfSignedOptions& options) {
  const TlsResult<std::string> names = alternative_names(options.names);
  if (!names) return std::unexpected(names.error());
  constexpr size_t kRsaBits = 2048;
  const detail::KeyPtr key(options.key == TlsKeyKind::kRsa2048 ? EVP_RSA_gen(kRsaBits) : EVP_EC_gen("P-256"));
  const detail::X509Ptr certificate(X509_new());
  const detail::BioPtr chain(BIO_new(BIO_s_mem()));
  const detail::BioPtr secret(BIO_new(BIO_s_mem()));
  if (!key || !certificate || !chain || !secret || !fill(certificate.get(), key.get(), options, *names) ||
      PEM_write_bio_X509(chain.get(), certificate.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    ERR_clear_error();
    return std::unexpected("OpenSSL could not make the self-signed certificate");
  }
  return SelfSigned{.chain_pem = detail::text_of(chain.get()), .key_pem = detail::text_of(secret.get())};
}

}  // namespace peal
