// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/pem_files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/chrono.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>

#include <peal/base/ascii.h>
#include <peal/base/read_whole.h>
#include <peal/base/result.h>

namespace peal::detail {
namespace {

std::array<int64_t, 4> stamp_of(const struct stat& status) {
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size, static_cast<int64_t>(status.st_ino)};
}

// Replaces OpenSSL's default callback, which would ask for the password at the terminal. Sets the bool at `was_asked`.
int refuse_password(char* /*password*/, int /*size*/, int /*writing*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

}  // namespace

bool PemFiles::read(const std::string& path, std::string& bytes) {
  constexpr size_t kMostBytes = 16 << 20;
  auto& stamp = seen_.emplace_back(path, std::array<int64_t, 4>{}).second;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  const bool opened = file && ::fstat(file.get(), &status) == 0;
  // The file may be a pipe. O_NONBLOCK keeps open() and read() from blocking this thread forever if nobody writes to
  // it.
  Result<std::string> whole = opened ? read_whole(file.get(), kMostBytes) : peal::fail(errno);
  if (!whole && whole.error() == std::errc::file_too_large) return fail(path + ": is larger than 16 MiB");
  if (!whole) return fail(path + ": cannot be read: " + whole.error().message());
  bytes = std::move(*whole);
  stamp = stamp_of(status);
  return true;
}

bool PemFiles::have_changed() const {
  return std::ranges::any_of(seen_, [](const auto& file) {
    struct stat status{};
    return (::stat(file.first.c_str(), &status) == 0 ? stamp_of(status) : decltype(file.second){}) != file.second;
  });
}

bool PemFiles::read_text(const std::string& file, const std::string& pem, std::string_view what, Text& to) {
  if (file.empty() && pem.empty()) return fail(fmt::format("no {} is given", what));
  if (!file.empty() && !pem.empty()) return fail(fmt::format("{}: the {} is given as text too", file, what));
  to = {.name = file.empty() ? fmt::format("the {} given as text", what) : file, .bytes = pem};
  return file.empty() || read(file, to.bytes);
}

bool PemFiles::read_certificates(const Text& from, std::vector<X509Ptr>& to) {
  const BioPtr bio(BIO_new_mem_buf(from.bytes.data(), static_cast<int>(from.bytes.size())));
  bool was_asked = false;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, refuse_password, &was_asked)) to.emplace_back(next);
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return fail(fmt::format("{}: certificate {} cannot be read", from.name, to.size() + 1));
  }
  return !to.empty() || fail(from.name + ": holds no certificate");
}

bool PemFiles::read_roots(const TlsTrust& from, std::vector<X509Ptr>& to) {
  Text text;
  return read_text(from.file, from.pem, "root", text) && read_certificates(text, to);
}

bool PemFiles::read_certificate(const TlsCertificate& from, std::chrono::sys_seconds now, CertifiedKey& to) {
  Text chain, key;
  if (!read_text(from.chain_file, from.chain_pem, "certificate", chain)) return false;
  to.name = chain.name;
  if (!read_text(from.key_file, from.key_pem, "key", key)) return fail(to.name + ": " + error_);
  return read_certificates(chain, to.chain) && read_key(std::move(key), to) && check_chain(now, to) &&
         (from.ocsp_file.empty() || read_staple(from.ocsp_file, now, to));
}

bool PemFiles::read_key(Text from, CertifiedKey& to) {
  const BioPtr bio(BIO_new_mem_buf(from.bytes.data(), static_cast<int>(from.bytes.size())));
  bool was_asked = false;
  to.key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse_password, &was_asked));
  OPENSSL_cleanse(from.bytes.data(), from.bytes.size());
  if (!to.key) return fail(from.name + (was_asked ? ": the key is encrypted" : ": is not a private key"));
  return X509_check_private_key(to.chain.front().get(), to.key.get()) == 1 ||
         fail(fmt::format("{}: does not match the first certificate in {}", from.name, to.name));
}

bool PemFiles::check_chain(std::chrono::sys_seconds now, CertifiedKey& of) {
  X509* before = nullptr;
  for (const X509Ptr& each : of.chain) {
    const std::string who = fmt::format("{}: certificate {}", of.name, &each - of.chain.data() + 1);
    if (before != nullptr && (X509_check_issued(each.get(), before) != X509_V_OK ||
                              X509_verify(before, X509_get0_pubkey(each.get())) != 1)) {
      return fail(who + " has not signed the one before it: the chain is in the wrong order, or one is missing");
    }
    const auto begin = time_of(X509_get0_notBefore(each.get())), end = time_of(X509_get0_notAfter(each.get()));
    if (now < begin) return fail(fmt::format("{} is not valid before {:%F %T} UTC", who, begin));
    if (now > end) return fail(fmt::format("{} has expired on {:%F %T} UTC", who, end));
    of.until = std::min(of.until, end);
    before = each.get();
  }
  return true;
}

bool PemFiles::read_staple(const std::string& path, std::chrono::sys_seconds now, CertifiedKey& to) {
  constexpr std::chrono::minutes kOtherClocks(5);  // The responder's clock may be fast by so much.
  if (!read(path, to.staple)) return false;
  const auto* at = reinterpret_cast<const unsigned char*>(to.staple.data());
  const Freed<OCSP_RESPONSE, OCSP_RESPONSE_free> response(
      d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(to.staple.size())));
  const Freed<OCSP_BASICRESP, OCSP_BASICRESP_free> basic(response ? OCSP_response_get1_basic(response.get()) : nullptr);
  if (!basic) return fail(path + ": is not a DER OCSP response with an answer");
  int status = V_OCSP_CERTSTATUS_UNKNOWN;
  ASN1_GENERALIZEDTIME *begin = nullptr, *end = nullptr;
  // The response names the certificate by a digest of its issuer, with SHA-1 or SHA-256.
  for (const EVP_MD* digest : {EVP_sha1(), EVP_sha256()}) {
    const Freed<OCSP_CERTID, OCSP_CERTID_free> id(
        OCSP_cert_to_id(digest, to.chain.front().get(), to.chain[to.chain.size() > 1 ? 1 : 0].get()));
    OCSP_resp_find_status(basic.get(), id.get(), &status, nullptr, nullptr, &begin, &end);
  }
  if (begin == nullptr) return fail(path + ": is not for the certificate in " + to.name + " and the issuer after it");
  if (status != V_OCSP_CERTSTATUS_GOOD) return fail(path + ": does not say that the certificate is good");
  to.staple_until = end == nullptr ? std::chrono::sys_seconds::max() : time_of(end);
  if (now > to.staple_until) return fail(path + ": the OCSP response has expired");
  return now + kOtherClocks >= time_of(begin) || fail(path + ": the OCSP response is not valid yet");
}

bool use_certificate(SSL_CTX* ctx, const CertifiedKey& certificate) {
  const Freed<STACK_OF(X509), [](STACK_OF(X509) * stack) { sk_X509_free(stack); }> rest(sk_X509_new_null());
  for (size_t index = 1; index < certificate.chain.size(); ++index) {
    sk_X509_push(rest.get(), certificate.chain[index].get());
  }
  return SSL_CTX_use_cert_and_key(ctx, certificate.chain.front().get(), certificate.key.get(), rest.get(), 1) == 1;
}

bool use_roots(SSL_CTX* ctx, const std::vector<X509Ptr>& roots) {
  X509_STORE* store = SSL_CTX_get_cert_store(ctx);
  return X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
         std::ranges::all_of(roots, [&](const X509Ptr& root) { return X509_STORE_add_cert(store, root.get()) == 1; });
}

std::vector<std::string> hosts_of(const X509* certificate) {
  const Freed<GENERAL_NAMES, GENERAL_NAMES_free> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> hosts;
  for (int index = 0; index < sk_GENERAL_NAME_num(names.get()); ++index) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), index);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.ia5)),
                                 static_cast<size_t>(ASN1_STRING_length(name->d.ia5)));
    hosts.push_back(name->type == GEN_DNS ? host_key(bytes) : "[" + std::string(bytes));
  }
  return hosts;
}

std::string host_key(std::string_view host) {
  return to_lower(host.substr(0, host.size() - (host.ends_with('.') ? 1 : 0)));
}

}  // namespace peal::detail
