// SPDX-License-Identifier: BSD-3-Clause
// Sends a mail by SMTP, in a coroutine: `smtp_sender SERVER FROM TO [ROOTS] <MESSAGE`. SERVER is for example
// "mail.example.org:25". ROOTS is a file of certificates to trust instead of the system's. Together with
// `smtp_receiver` it shows start_layer(), which begins TLS on an open connection (STARTTLS, RFC 3207). The server must
// prove with a certificate that it is SERVER. Any other server gets neither the mail nor the addresses.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <expected>
#include <iostream>
#include <optional>

#include <examples/shared/service.h>

#include <peal/coro/connect.h>
#include <peal/coro/scope.h>
#include <peal/tls/tls_client_context.h>

namespace {

using namespace peal;

constexpr Duration kPatience = std::chrono::minutes(5);  // the timeout for each line of an answer (RFC 5321 4.5.3.2)
constexpr size_t kLongestLine = 1000;                    // in bytes, including CR LF
constexpr int kMostLines = 100;

struct Mail {
  std::string server, from, to;
  std::string text;  // as sent: lines end with CR LF; a dot at the beginning of a line is doubled
};

// All lines of the server's answer, or a sentence that says what has failed.
using Answer = std::expected<std::string, std::string>;

// Sends `line`, which may also be the lines of a whole mail, and returns the server's answer. If `line` is empty, sends
// nothing, because a server greets a new client without being asked. Fails if the last line of the answer does not
// begin with `code`, or if no complete answer arrives.
Task<Answer> ask(Stream& stream, std::string line, std::string_view code) {
  // An error of write() is ignored, because the connection has then ended or is about to end. The reads below return
  // the last answer that the server has sent, or fail and say why.
  if (!line.empty()) (void)co_await stream.write(line.append("\r\n"));
  std::string all;
  for (int lines = 0; lines < kMostLines; ++lines) {
    const Result<Buffer> piece = co_await stream.read_until("\r\n", kLongestLine).within(kPatience);
    if (!piece) co_return std::unexpected("no answer: " + piece.error().message());
    if (piece->empty()) co_return std::unexpected("the server ended without an answer");
    const std::string answer = piece->to_string();
    all += answer;
    if (answer.size() > 3 && answer[3] == '-') continue;  // more lines follow
    if (answer.starts_with(code)) co_return all;
    co_return std::unexpected("the server says: " + answer.substr(0, answer.size() - 2));
  }
  co_return std::unexpected("the answer of the server has too many lines");
}

// True if `answer`, the answer to EHLO, lists the extension.
bool offers(std::string answer, std::string_view extension) {
  for (char& letter : answer) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return answer.contains(fmt::format("250-{}\r\n", extension)) || answer.contains(fmt::format("250 {}\r\n", extension));
}

std::string hello() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof(name) - 1);
  return fmt::format("EHLO {}", name);
}

// Quoted in docs: [starttls]
// Begins TLS, and returns the server's answer to EHLO over TLS, which lists its extensions. The answer to the first
// EHLO is not encrypted, so an attacker may have changed that answer. The function therefore looks only for STARTTLS in
// that answer. If STARTTLS is missing, the function fails and no mail is sent.
Task<Answer> go_over_to_tls(Stream& stream) {
  Answer heard = co_await ask(stream, hello(), "250");
  if (!heard) co_return heard;
  if (!offers(*heard, "STARTTLS")) co_return std::unexpected("the server does not offer STARTTLS: nothing is sent");
  heard = co_await ask(stream, "STARTTLS", "220");
  if (!heard) co_return heard;
  const Result<void> secured = co_await stream.start_layer();  // checks that the certificate has the name of SERVER
  if (!secured) co_return std::unexpected("no TLS: " + secured.error().message());
  co_return co_await ask(stream, hello(), "250");
}
// End of quote: [starttls]

Task<Answer> deliver(Stream& stream, const Mail& mail) {
  Answer heard = co_await ask(stream, "", "220");
  if (heard) heard = co_await go_over_to_tls(stream);
  const bool ascii = std::ranges::all_of(mail.text, [](char byte) { return static_cast<unsigned char>(byte) < 128; });
  if (heard && !ascii && !offers(*heard, "8BITMIME")) co_return std::unexpected("the server takes nothing but ASCII");
  std::string line = fmt::format("MAIL FROM:<{}>{}", mail.from, ascii ? "" : " BODY=8BITMIME");
  if (heard) heard = co_await ask(stream, line, "250");
  line = fmt::format("RCPT TO:<{}>", mail.to);
  if (heard) heard = co_await ask(stream, line, "25");
  if (heard) heard = co_await ask(stream, "DATA", "354");
  line = mail.text + ".";
  if (heard) heard = co_await ask(stream, line, "250");
  co_return heard;
}

Task<> send(Loop& loop, const TlsClientContext& tls, const Mail& mail, Answer& outcome) {
  Result<Stream> stream = co_await connect(mail.server, {.connection = {.layer = &tls, .layer_later = true}});
  if (stream) {
    outcome = co_await deliver(*stream, mail);
    if (stream->is_open()) (void)co_await ask(*stream, "QUIT", "221");
  } else {
    outcome = std::unexpected(fmt::format("cannot connect to {}: {}", mail.server, stream.error().message()));
  }
  loop.stop();
}

// Reads the message from `in`, and returns the text in the form of Mail::text. Returns nothing if a line is longer than
// SMTP allows (kLongestLine). Also returns nothing if a line contains a CR that is not at its end, because SMTP allows
// a CR only directly before an LF (RFC 5321 2.3.8).
std::optional<std::string> read_text(std::istream& in) {
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() > kLongestLine - 2 || line.contains('\r')) return std::nullopt;
    text.append(line.starts_with('.') ? "." : "").append(line).append("\r\n");
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const auto no_address = [](std::string_view text) {
    return std::ranges::any_of(text, [](char byte) { return byte <= ' ' || byte > '~' || byte == '<' || byte == '>'; });
  };
  if (argc < 4 || no_address(argv[2]) || no_address(argv[3])) {
    fmt::print(stderr, "usage: smtp_sender SERVER FROM TO [ROOTS] <MESSAGE\n");
    return 2;
  }
  const auto complain = [](const std::string& sentence) {
    fmt::print(stderr, "{}\n", sentence);
    return 1;
  };
  const auto tls = TlsClientContext::make({.roots = {.file = examples::argument(argc, argv, 4, "")}});
  if (!tls) return complain(tls.error());
  std::optional<std::string> text = read_text(std::cin);
  if (!text) return complain("the message has a line that is too long, or has a CR within");
  const Mail mail{.server = argv[1], .from = argv[2], .to = argv[3], .text = std::move(*text)};
  Loop loop;
  Answer outcome;
  Scope scope(loop);
  scope.spawn(send(loop, **tls, mail, outcome));
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  if (!outcome) return complain(outcome.error());
  fmt::print("{}", *outcome);
  return 0;
}
