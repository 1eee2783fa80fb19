// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_session.h>

#include <algorithm>
#include <cstring>

#include <openssl/bio.h>

#include <peal/base/assert.h>
#include <peal/tls/parts/ssl_settings.h>
#include <peal/tls/parts/tls_error.h>

namespace peal::detail {
namespace {

// read_blocks(), write_blocks(), control_blocks() and create_on_blocks() implement an OpenSSL BIO (BIO_meth_new(3))
// that reads from the input buffer of a TlsSession and writes to its output buffer. session_of() returns the
// TlsSession.
TlsSession& session_of(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

int read_blocks(BIO* bio, char* into, size_t bytes, size_t* count) {
  *count = session_of(bio).take_input(into, bytes);
  BIO_clear_retry_flags(bio);
  if (*count > 0) return 1;
  BIO_set_retry_read(bio);
  return 0;
}

int write_blocks(BIO* bio, const char* from, size_t bytes, size_t* count) {
  session_of(bio).out().append(std::string_view(from, bytes));
  *count = bytes;
  return 1;
}

long control_blocks(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int create_on_blocks(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

// Returns the BIO_METHOD with the functions above. The first call creates it, and it is never freed.
const BIO_METHOD* block_bio() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "blocks");
    PEAL_ASSERT(made != nullptr, "OpenSSL has no memory for a BIO method");
    BIO_meth_set_read_ex(made, read_blocks);
    BIO_meth_set_write_ex(made, write_blocks);
    BIO_meth_set_ctrl(made, control_blocks);
    BIO_meth_set_create(made, create_on_blocks);
    return made;
  }();
  return method;
}

// Returns the big-endian number in the two bytes at `at`.
size_t two_bytes(std::string_view bytes, size_t at) {
  return size_t{static_cast<uint8_t>(bytes[at])} << 8 | static_cast<uint8_t>(bytes[at + 1]);
}

// Returns the text that `print` writes to a BIO. Control bytes are replaced by '?': a name may hold any bytes, and a
// newline in it could forge a line of a log.
template <class Print>
std::string printed(Print print) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  if (!text) return {};
  print(text.get());
  std::string line = text_of(text.get());
  std::ranges::replace_if(line, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; }, '?');
  return line;
}

// Returns the subjectAltName entries of a certificate: "DNS:example.org".
std::vector<std::string> names_of(const X509* certificate) {
  const Freed<GENERAL_NAMES, GENERAL_NAMES_free> all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(std::max(sk_GENERAL_NAME_num(all.get()), 0)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    names.push_back(printed([&](BIO* text) { GENERAL_NAME_print(text, sk_GENERAL_NAME_value(all.get(), i)); }));
  }
  return names;
}

// Returns whether OpenSSL's last call stopped because it needs more input, and not because it failed.
//
// SSL_want_read() alone is not enough. During a handshake, or in the middle of a later handshake message, it is true
// even after a failure, and only the error queue shows the failure. Outside of a handshake the error queue must be
// ignored, because other code on this thread may have left errors in it. SSL_get_error(3) does not ignore it.
bool wants_input(const SSL* ssl) { return SSL_want_read(ssl) && !(SSL_in_init(ssl) && ERR_peek_error() != 0); }

}  // namespace

void TlsSession::begin(SslPtr ssl) {
  ssl_ = std::move(ssl);
  BIO* bio = BIO_new(block_bio());
  PEAL_ASSERT(bio != nullptr, "OpenSSL has no memory for a BIO");
  BIO_set_data(bio, this);
  SSL_set_bio(ssl_.get(), bio, bio);
}

void TlsSession::fail() {
  if (!error_) error_ = take_tls_error(SSL_get_verify_result(ssl_.get()));
}

// If OpenSSL refuses a record because of its head, returns the size of the head alone. OpenSSL is then given the head
// and refuses it at once. Otherwise this side would wait for the other bytes of the record.
size_t TlsSession::first_record_bytes() {
  constexpr size_t kMostBytes = kRecordHeadBytes + kMostRecordBytes + 2048;  // RFC 5246 6.2.3
  const std::string_view head = in_.view(kRecordHeadBytes);
  if ((head[0] & 0x80) != 0 && head[2] == 1) {  // A hello in the format of SSL 2 (RFC 5246 E.2).
    const size_t bytes = 2 + (two_bytes(head, 0) & 0x7fff);
    return bytes <= kMostBytes ? std::max(bytes, kRecordHeadBytes) : kRecordHeadBytes;
  }
  const size_t bytes = kRecordHeadBytes + two_bytes(head, 3);
  return head[1] == 3 && bytes <= kMostBytes ? bytes : kRecordHeadBytes;
}

// A hello (RFC 8446 4) is a handshake message: a head of 4 bytes with the length, and a body. Even the head may be
// split over several records, so this function joins its parts. The result includes the heads of the records up to the
// one in which the hello's head ends. The heads of later records are not included, because their number is not known
// yet.
size_t TlsSession::first_hello_bytes() {
  constexpr size_t kMostHelloBytes = 131'396, kHelloHeadBytes = 4;
  // The number of input bytes that are searched for the hello's head. They have room for 32 empty records, the most
  // that OpenSSL accepts, and for a head that is split over four records.
  constexpr size_t kLookedAtBytes = 256;
  const std::string_view wire = in_.view(std::min(in_.size(), kLookedAtBytes));
  std::string head;
  size_t at = 0;
  while (at + kRecordHeadBytes <= wire.size() && wire[at] == SSL3_RT_HANDSHAKE) {
    const size_t begin = at + kRecordHeadBytes;
    const size_t missing = kHelloHeadBytes - head.size();
    at = begin + two_bytes(wire, at + 3);
    head += wire.substr(begin, std::min(at - begin, missing));
    if (head.size() < kHelloHeadBytes) continue;
    const size_t length = size_t{static_cast<uint8_t>(head[1])} << 16 | two_bytes(head, 2);
    return length > kMostHelloBytes ? 0 : begin + missing + length;
  }
  const bool is_cut = at + kRecordHeadBytes > wire.size() && wire.size() < kLookedAtBytes;
  return is_cut ? in_.size() + 1 : 0;
}

size_t TlsSession::take_input(char* into, size_t most) {
  if (record_left_ == 0) record_left_ = static_cast<uint16_t>(whole_record_bytes());
  const size_t wanted = std::min<size_t>(most, record_left_);
  for (size_t count = 0; count < wanted;) {
    const std::string_view part = in_.front().substr(0, wanted - count);
    std::memcpy(into + count, part.data(), part.size());
    count += part.size();
    in_.consume(part.size());
  }
  record_left_ = static_cast<uint16_t>(record_left_ - wanted);
  return wanted;
}

bool TlsSession::shake_hands() {
  if (error_) return false;
  ERR_clear_error();
  if (SSL_do_handshake(ssl_.get()) == 1) return true;
  if (!wants_input(ssl_.get())) fail();
  return false;
}

void TlsSession::read(Buffer& plain) {
  if (error_ || peer_ended_) return;
  const size_t before = in_.size();
  const size_t had = plain.size();
  size_t expected = before;
  do {
    const std::span<std::byte> room = plain.prepare(std::clamp<size_t>(expected, 1, kMostRecordBytes));
    size_t count = 0;
    if (SSL_read_ex(ssl_.get(), room.data(), room.size(), &count) != 1) {
      if (wants_input(ssl_.get())) break;
      // OpenSSL sets SSL_RECEIVED_SHUTDOWN for a fatal alert, too. After an alert SSL_in_init() is true, because
      // OpenSSL's state machine has stopped.
      peer_ended_ = (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0 && !SSL_in_init(ssl_.get());
      if (!peer_ended_) fail();
      break;
    }
    plain.commit(count);
    expected = expected > count ? expected - count : kMostRecordBytes;
  } while (has_input());
  if (plain.empty()) plain.clear();
  idle_bytes_ = plain.size() > had ? 0 : idle_bytes_ + static_cast<uint32_t>(before - in_.size());
  if (idle_bytes_ > most_idle_bytes_ && !error_) error_ = tls_error(TlsTrouble::kFlood);
}

// OpenSSL encrypts one record a call (SSL_MODE_ENABLE_PARTIAL_WRITE). If OpenSSL took fewer bytes than it was offered,
// later calls offer no more than that number. A longer piece may lie in several blocks, and Buffer::view() would copy
// it each time.
size_t TlsSession::write(Buffer& plain) {
  const std::string_view piece = plain.view(std::min<size_t>(plain.size(), most_sealed_bytes_));
  size_t count = 0;
  if (error_ || SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &count) != 1) {
    fail();
    return 0;
  }
  if (count < piece.size()) most_sealed_bytes_ = static_cast<uint16_t>(count);
  plain.consume(count);
  return count;
}

void TlsSession::end() {
  if (!error_ && SSL_shutdown(ssl_.get()) < 0) ERR_clear_error();
}

LayerFacts TlsSession::facts() const {
  LayerFacts facts{.protocol = SSL_get_version(ssl_.get()),
                   .cipher = SSL_get_cipher_name(ssl_.get()),
                   .application = {},
                   .peer = {},
                   .names = {},
                   .resumed = SSL_session_reused(ssl_.get()) == 1};
  const unsigned char* chosen = nullptr;
  unsigned chosen_bytes = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &chosen_bytes);
  if (chosen_bytes > 0) facts.application.assign(reinterpret_cast<const char*>(chosen), chosen_bytes);
  const X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate != nullptr && SSL_get_verify_result(ssl_.get()) == X509_V_OK) {
    facts.peer = printed([&](BIO* text) {
      X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    });
    facts.names = names_of(certificate);
  }
  return facts;
}

}  // namespace peal::detail
