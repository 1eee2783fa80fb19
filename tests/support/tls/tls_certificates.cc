// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tls/tls_certificates.h>

#include <array>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace peal::test {
namespace {

using BioOwner = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::shared_ptr<EVP_PKEY> make_key(int rsa_bits) {
  return {rsa_bits > 0 ? EVP_RSA_gen(static_cast<size_t>(rsa_bits)) : EVP_EC_gen("P-256"), EVP_PKEY_free};
}

template <class Write>
std::string pem_of(Write write) {
  const BioOwner bio(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(write(bio.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::shared_ptr<X509> parsed(const std::string& pem) {
  const BioOwner bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free};
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Returns a new certificate that is not signed yet.
std::shared_ptr<X509> begin_certificate(const std::string& common_name, EVP_PKEY* key, std::chrono::seconds begins,
                                        std::chrono::seconds ends) {
  static int serial = 1000;
  std::shared_ptr<X509> made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), begins.count());
  X509_gmtime_adj(X509_getm_notAfter(made.get()), ends.count());
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  return made;
}

std::shared_ptr<X509> make_authority(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                                     std::chrono::seconds ends) {
  std::shared_ptr<X509> made = begin_certificate(name, key, -std::chrono::hours(48), ends);
  X509* by = issuer == nullptr ? made.get() : issuer;
  X509_set_issuer_name(made.get(), X509_get_subject_name(by));
  extend(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
  extend(made.get(), by, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  extend(made.get(), by, NID_subject_key_identifier, "hash");
  X509_sign(made.get(), issuer_key, EVP_sha256());
  return made;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name, std::chrono::seconds ends) : key_(make_key(0)) {
  certificate_ = make_authority(name, key_.get(), nullptr, key_.get(), ends);
  pem_ = pem_of(certificate_.get());
}

TestAuthority TestAuthority::intermediate(const std::string& name, std::chrono::seconds ends) const {
  TestAuthority made;
  made.key_ = make_key(0);
  made.certificate_ = make_authority(name, made.key_.get(), certificate_.get(), key_.get(), ends);
  made.pem_ = pem_of(made.certificate_.get());
  made.above_ = made.pem_ + above_;
  return made;
}

SelfSigned TestAuthority::issue(const Wanted& wanted) const {
  const std::shared_ptr<EVP_PKEY> key = make_key(wanted.rsa_bits);
  const std::shared_ptr<X509> made = begin_certificate(wanted.common_name, key.get(), wanted.begins, wanted.ends);
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  extend(made.get(), certificate_.get(), NID_basic_constraints, "critical,CA:FALSE");
  extend(made.get(), certificate_.get(), NID_ext_key_usage, wanted.usage);
  std::string names;
  for (const std::string& name : wanted.names) {
    const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos || name.contains(':');
    names += (names.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + name;
  }
  if (!names.empty()) extend(made.get(), certificate_.get(), NID_subject_alt_name, names);
  X509_sign(made.get(), key_.get(), EVP_sha256());
  return {.chain_pem = pem_of(made.get()) + above_, .key_pem = pem_of([&](BIO* bio) {
                                                      return PEM_write_bio_PKCS8PrivateKey(
                                                          bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                                                    })};
}

std::string TestAuthority::response(const std::string& chain_pem, const WantedResponse& wanted) const {
  const std::shared_ptr<X509> subject = parsed(chain_pem);
  OCSP_BASICRESP* basic = OCSP_BASICRESP_new();
  OCSP_CERTID* id = OCSP_cert_to_id(wanted.sha256 ? EVP_sha256() : EVP_sha1(), subject.get(), certificate_.get());
  ASN1_TIME* begin = X509_gmtime_adj(nullptr, wanted.begins.count());
  ASN1_TIME* end = X509_gmtime_adj(nullptr, wanted.ends.count());
  ASN1_TIME* revoked = X509_gmtime_adj(nullptr, -3600);
  OCSP_basic_add1_status(basic, id, wanted.is_good ? V_OCSP_CERTSTATUS_GOOD : V_OCSP_CERTSTATUS_REVOKED,
                         OCSP_REVOKED_STATUS_KEYCOMPROMISE, wanted.is_good ? nullptr : revoked, begin, end);
  EXPECT_EQ(OCSP_basic_sign(basic, certificate_.get(), key_.get(), EVP_sha256(), nullptr, 0), 1);
  OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  unsigned char* der = nullptr;
  const int size = i2d_OCSP_RESPONSE(response, &der);
  const std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  OCSP_RESPONSE_free(response);
  for (ASN1_TIME* time : {begin, end, revoked}) ASN1_TIME_free(time);
  OCSP_CERTID_free(id);
  OCSP_BASICRESP_free(basic);
  return bytes;
}

std::string encrypted(const std::string& key_pem) {
  const BioOwner bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), BIO_free);
  const std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  return pem_of([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key.get(), EVP_aes_256_cbc(), "secret", 6, nullptr, nullptr);
  });
}

std::string pin_of_first(const std::string& chain_pem) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(X509_get0_pubkey(parsed(chain_pem).get()), &der);
  std::array<unsigned char, 32> digest{};
  std::array<unsigned char, 64> text{};
  EVP_Digest(der, static_cast<size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return reinterpret_cast<const char*>(text.data());
}

std::string nth_certificate(const std::string& chain_pem, size_t index) {
  const std::string_view mark = "-----BEGIN CERTIFICATE-----";
  size_t begin = chain_pem.find(mark);
  for (; index > 0; --index) begin = chain_pem.find(mark, begin + 1);
  const size_t end = chain_pem.find(mark, begin + 1);
  return chain_pem.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace peal::test
