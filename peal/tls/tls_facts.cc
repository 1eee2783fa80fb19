// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/tls_facts.h>

#include <cstdlib>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace peal {
namespace {

bool offers_tls13() {
  SSL_CTX* const context = SSL_CTX_new(TLS_method());
  SSL* const ssl = context != nullptr ? SSL_new(context) : nullptr;
  STACK_OF(SSL_CIPHER)* const ciphers = ssl != nullptr ? SSL_get1_supported_ciphers(ssl) : nullptr;
  bool found = false;
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    found = found || std::string_view(SSL_CIPHER_get_version(sk_SSL_CIPHER_value(ciphers, i))) == "TLSv1.3";
  }
  sk_SSL_CIPHER_free(ciphers);
  SSL_free(ssl);
  SSL_CTX_free(context);
  ERR_clear_error();
  return found;
}

// Returns the value of the environment variable, or `fallback` if it is not set.
std::string environment_or_default(const char* variable, const char* fallback) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : fallback;
}

// Called by OSSL_PROVIDER_do_all() for each loaded provider. Adds its name to `names`, a std::vector<std::string>.
int add_name(OSSL_PROVIDER* provider, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(OSSL_PROVIDER_get0_name(provider));
  return 1;
}

}  // namespace

TlsFacts tls_facts() {
  TlsFacts facts{.version = OpenSSL_version(OPENSSL_VERSION), .tls13 = offers_tls13()};
  OSSL_PROVIDER_do_all(nullptr, add_name, &facts.providers);
  const char* const processor = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
  if (processor != nullptr) facts.processor = processor;
  facts.roots_file = environment_or_default(X509_get_default_cert_file_env(), X509_get_default_cert_file());
  facts.roots_folder = environment_or_default(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
  return facts;
}

}  // namespace peal
