// SPDX-License-Identifier: BSD-3-Clause
#include <examples/tls/smtp_session.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <utility>

#include <fmt/core.h>

namespace peal::examples {

namespace {

std::string upper(std::string_view text) {
  std::string up(text);
  for (char& letter : up) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return up;
}

// The argument of MAIL or RCPT, for example "FROM:<somebody@example.org> SIZE=100".
struct Path {
  std::string address;     // with its angle brackets
  std::string parameters;  // in upper case
};
// Parses an argument that begins with `word`. `word` is "FROM:" or "TO:". Returns nothing if the argument is not valid.
std::optional<Path> path_of(std::string_view argument, std::string_view word) {
  if (upper(argument.substr(0, word.size())) != word) return std::nullopt;
  argument.remove_prefix(word.size());
  const size_t end = argument.find('>');
  if (!argument.starts_with('<') || end == argument.npos) return std::nullopt;
  return Path{std::string(argument.substr(0, end + 1)), upper(argument.substr(end + 1))};
}

}  // namespace

SmtpAnswer SmtpSession::take(std::string_view line) {
  if (in_text_) return take_text(line);
  const size_t space = std::min(line.find(' '), line.size());
  const std::string verb = upper(line.substr(0, space));
  if (verb == "QUIT") return {.text = "221 good-bye\r\n", .next = SmtpNext::kClose};
  if (verb == "STARTTLS" && greeted_ && !secured_) return {.text = "220 go ahead\r\n", .next = SmtpNext::kStartTls};
  return {.text = command(verb, line.substr(std::min(space + 1, line.size()))) + "\r\n"};
}

std::string SmtpSession::command(std::string_view verb, std::string_view argument) {
  if (verb == "EHLO" || verb == "HELO") return greet(verb, argument);
  if (verb == "NOOP") return "250 OK";
  if (verb == "STARTTLS") return secured_ ? "503 TLS is in use already" : "503 send EHLO first";
  if (!secured_) return "530 Must issue a STARTTLS command first";
  if (verb == "MAIL") return begin_mail(argument);
  if (verb == "RCPT") return add_recipient(argument);
  if (verb == "DATA") return begin_text();
  if (verb == "RSET") return forget_mail();
  if (verb == "VRFY") return "252 cannot verify the address, but will accept mail for it";
  return "500 unknown command";
}

std::string SmtpSession::greet(std::string_view verb, std::string_view client) {
  if (client.empty()) return "501 the name of the client is missing";
  forget_mail();
  greeted_ = true;
  char name[256] = "localhost";
  ::gethostname(name, sizeof(name) - 1);
  if (verb == "HELO") return fmt::format("250 {}", name);
  const std::string_view offer = secured_ ? "" : "250-STARTTLS\r\n";
  return fmt::format("250-{}\r\n{}250-8BITMIME\r\n250 SIZE {}", name, offer, kMostBytes);
}

std::string SmtpSession::begin_mail(std::string_view argument) {
  if (!greeted_ || !mail_.from.empty()) return "503 bad sequence of commands";
  std::optional<Path> path = path_of(argument, "FROM:");
  if (!path) return "501 syntax: MAIL FROM:<somebody@example.org>";
  std::istringstream parameters(path->parameters);
  for (std::string word; parameters >> word;) {
    const bool size = word.starts_with("SIZE=");
    if (!size && word != "BODY=8BITMIME" && word != "BODY=7BIT") return "555 unknown parameter";
    if (size && std::strtoull(word.c_str() + 5, nullptr, 10) > kMostBytes) return "552 too large";
  }
  mail_.from = std::move(path->address);
  return "250 OK";
}

std::string SmtpSession::add_recipient(std::string_view argument) {
  if (mail_.from.empty()) return "503 bad sequence of commands";
  std::optional<Path> path = path_of(argument, "TO:");
  if (!path || path->address == "<>") return "501 syntax: RCPT TO:<somebody@example.org>";
  if (!path->parameters.empty()) return "555 unknown parameter";
  if (mail_.to.size() == kMostRecipients) return "452 too many recipients";
  mail_.to.push_back(std::move(path->address));
  return "250 OK";
}

std::string SmtpSession::begin_text() {
  if (mail_.to.empty()) return "503 send RCPT first";
  in_text_ = true;
  return "354 end it with a dot on a line of its own";
}

SmtpAnswer SmtpSession::take_text(std::string_view line) {
  if (line != ".") {
    if (line.starts_with('.')) line.remove_prefix(1);  // the sender doubles a dot at the beginning of a line
    too_large_ = too_large_ || mail_.text.size() + line.size() + 2 > kMostBytes;
    if (!too_large_) mail_.text.append(line).append("\r\n");
    return {};
  }
  SmtpAnswer answer{.text = "552 too large\r\n"};
  if (!too_large_) answer = {.text = "250 taken\r\n", .mail = std::move(mail_)};
  forget_mail();
  return answer;
}

std::string SmtpSession::forget_mail() {
  in_text_ = too_large_ = false;
  mail_ = {};
  return "250 the mail is dropped";
}

}  // namespace peal::examples
