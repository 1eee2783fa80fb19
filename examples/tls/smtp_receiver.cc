// SPDX-License-Identifier: BSD-3-Clause
// Receives mail by SMTP and prints it: `smtp_receiver CERTIFICATE KEY [ADDRESS]`. Together with `smtp_sender` it shows
// start_layer(), which begins TLS on an open connection. It accepts mail only after a client has begun TLS. Only CR LF
// ends a line. If a single LF ended a line too, an attacker could hide a second mail inside a mail (SMTP smuggling).
#include <algorithm>

#include <examples/shared/service.h>
#include <examples/tls/smtp_session.h>
#include <fmt/ranges.h>

#include <peal/tls/tls_server_context.h>

namespace {

using namespace peal;
using examples::SmtpAnswer;
using examples::SmtpMail;
using examples::SmtpNext;
using examples::SmtpSession;

void print(const SmtpMail& mail, const LayerFacts& over) {
  fmt::print("from {} to {}, {} bytes over {} {}\n{}", mail.from, fmt::join(mail.to, ", "), mail.text.size(),
             over.protocol, over.cipher, mail.text);
  std::fflush(stdout);
}

// Takes the first line out of `input`, and returns the line without its CR LF. Returns nothing if the line is
// incomplete. A line is not valid if it is longer than kLongestLine, or contains a CR or LF in addition to the CR LF at
// its end. If the line is not valid, answers with an error, closes the connection and returns nothing.
std::optional<std::string> next_line(Connection& connection, Buffer& input) {
  const std::string_view ahead = input.view(std::min(input.size(), SmtpSession::kLongestLine));
  const size_t end = ahead.find("\r\n");
  std::string line(ahead.substr(0, end));
  const bool whole = end != ahead.npos;
  if (whole ? line.find_first_of("\r\n") != line.npos : line.size() == SmtpSession::kLongestLine) {
    connection.send(SmtpSession::kBadLine);
    connection.close();
    return std::nullopt;
  }
  if (!whole) return std::nullopt;
  input.consume(end + 2);
  return line;
}

// Quoted in docs: [lines]
void take_lines(Connection& connection, Buffer& input) {
  // start_layer() begins the TLS handshake, and is_open() is false during a handshake. So the loop ends after STARTTLS,
  // and unencrypted bytes that follow STARTTLS are not read as commands. If sending has failed, start_layer() does
  // nothing and the loop continues. The session then still refuses mail, because TLS has not begun.
  while (connection.is_open()) {
    const std::optional<std::string> line = next_line(connection, input);
    if (!line) return;
    const SmtpAnswer answer = connection.context<SmtpSession>().take(*line);
    if (answer.mail) print(*answer.mail, *connection.layer_facts());
    if (!answer.text.empty()) connection.send(answer.text);
    if (answer.next == SmtpNext::kStartTls) connection.start_layer();
    if (answer.next == SmtpNext::kClose) connection.close();
  }
}
// End of quote: [lines]

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: smtp_receiver CERTIFICATE KEY [ADDRESS]\n");
    return 2;
  }
  const auto tls = TlsServerContext::make({.certificates = {{.chain_file = argv[1], .key_file = argv[2]}}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  Loop loop;
  // Quoted in docs: [server]
  ConnectionCallbacks callbacks;
  callbacks.on_open = [](Connection& connection) {
    connection.emplace_context<SmtpSession>(false);
    connection.send(SmtpSession::kGreeting);
  };
  callbacks.on_message = take_lines;
  callbacks.on_secured = [](Connection& connection) { connection.emplace_context<SmtpSession>(true); };
  ServerOptions options{.max_connections = 100};
  options.connection = {.idle_timeout = std::chrono::minutes(5), .layer = tls->get(), .layer_later = true};
  Server server(loop, std::move(callbacks), options);
  // End of quote: [server]
  return examples::listen(server, examples::argument(argc, argv, 3, "127.0.0.1:2525")) ? examples::run(loop) : 1;
}
