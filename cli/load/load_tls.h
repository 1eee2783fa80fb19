// SPDX-License-Identifier: BSD-3-Clause
// What of the command line of `peal load` is about TLS, and the layer it asks for.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <cli/command.h>
#include <peal/base/log.h>
#include <peal/engine/stream_port.h>

namespace peal::cli {

// As they stand there.
struct LoadTlsArguments {
  bool tls = false;        // ping-pong and echo; of http the URL says it, or else it is for the servers a duel starts
  std::string roots_file;  // empty: the system's
  bool insecure = false;
  std::string name;  // whom the server must prove to be; empty: the target's
  std::string certificate_file, key_file;
  bool resume = false;
  bool handshakes = false;  // a connection for each request
};

// The first of the options that make sense with TLS alone; empty: none was given.
std::string_view tls_option_given(const LoadTlsArguments& words);

// `application`: what is spoken over it (ALPN); empty: not negotiated.
std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_tls_layer(const LoadTlsArguments& words,
                                                                           const std::string& application);
// Whom the server is to prove to be, where the target is called `host`, a name or an address; empty: its address.
std::string name_to_verify(const LoadTlsArguments& words, std::string_view host);
// The same of HOST:PORT, [HOST]:PORT or unix:PATH.
std::string name_to_verify_of(const LoadTlsArguments& words, std::string_view target);
// As reports call it.
std::string tls_text(const LoadTlsArguments& words);

// While it lives a layer's handshakes that fail are not logged, if `on`: a run counts them and says why.
class QuietHandshakes {
 public:
  explicit QuietHandshakes(bool on);
  ~QuietHandshakes() { set_log_level(before_); }
  QuietHandshakes(const QuietHandshakes&) = delete;
  QuietHandshakes& operator=(const QuietHandshakes&) = delete;

 private:
  const LogLevel before_ = log_level();
};

enum class TlsAsked : uint8_t {
  kByOption,      // --tls
  kByUrl,         // https://
  kByUrlOrStart,  // https://, or --tls for the servers that are started
};
void add_load_tls_options(CLI::App& command, TlsAsked asked, LoadTlsArguments& words);

}  // namespace peal::cli
